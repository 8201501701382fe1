/** What went wrong with instances, for people and for retries. */
export interface Incident {
  id: string;
  state: string;
  transition: string;
  task: string | undefined;
  message: string;
  errorCode: string | undefined;
  errorLayer: string | undefined;
  statusCode: number | undefined;
  boundaryAction: string | undefined;
  boundaryLevel: string | undefined;
  traceId: string | undefined;
  retryCount: number;
  createdAt: Date;
  resolvedAt: Date | undefined;
}

export interface IncidentStore {
  /** Newest first. */
  list(instanceId: string, skip: number, most: number): Promise<Incident[]>;
  /** The newest that is not resolved. */
  active(instanceId: string): Promise<Incident | undefined>;
  /** Where the run of the newest open incident stood (JSON text), if that is known. */
  resumeOf(instanceId: string): Promise<string | undefined>;
}
