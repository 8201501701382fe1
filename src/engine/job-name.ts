/**
 * Names of jobs: `service.job.v1.{type}.{id}.{sourceState}.{transitionKey}`. The name says which work
 * it is, so the same work cannot be queued twice, and a timer is cancelled by source state and key.
 *
 * Names of the older generation have one field after the id; they still parse. A field that is not
 * in the alphabet was written as `~` and base64url there; the newer generation refuses such keys.
 */
export const JobType = {
  /** A transition accepted with `sync=false`. */
  transition: "tx",
  /** A scheduled transition waiting for its time. */
  scheduled: "sx",
  /** The workflow's timeout. */
  timeout: "to",
  /** The fallback of a paused long poll. */
  longPoll: "la",
  /** A child to start. */
  subflowStart: "sf",
  /** A parent to go on with after its subflow has ended. */
  resume: "rs",
  /** A child nobody waits for any more, to cancel. */
  childCancel: "cc",
  /** Notifications of a state that an instance has come to rest in. */
  notify: "sn",
} as const;
export type JobType = (typeof JobType)[keyof typeof JobType];

export interface JobName {
  type: JobType;
  instanceId: string;
  sourceState?: string | undefined;
  transitionKey?: string | undefined;
}

const start = "service.job.v1";
const segment = /^[A-Za-z0-9_-]+$/;

/** State and transition keys become part of job names, where a dot would separate. */
export const isJobNameSegment = (key: string): boolean => segment.test(key);

export class JobNameError extends Error {
  override readonly name = "JobNameError";
}

export function formatJobName({ type, instanceId, sourceState, transitionKey }: JobName): string {
  const head = `${start}.${type}.${instanceId.replaceAll("-", "")}`;
  if (transitionKey === undefined) return head;
  for (const key of [sourceState ?? "", transitionKey]) {
    if (!isJobNameSegment(key)) {
      throw new JobNameError(
        `'${key}' cannot be part of a job name: only letters, digits, '_' and '-' are allowed. Rename the state or transition.`,
      );
    }
  }
  return `${head}.${sourceState}.${transitionKey}`;
}

const shape =
  /^[A-Za-z0-9_-]+\.job\.v1\.(tx|sx|to|la|sf|rs|cc|sn)\.([0-9a-f]{32})(?:\.([^.]+))?(?:\.([^.]+))?$/i;

/** Any brand in front, one or two fields behind the id; undefined when it is no job name at all. */
export function parseJobName(name: string): JobName | undefined {
  const match = shape.exec(name);
  if (match === null) return undefined;
  const [, type, hex, first, second] = match;
  const id = hex!.toLowerCase();
  const instanceId = `${id.slice(0, 8)}-${id.slice(8, 12)}-${id.slice(12, 16)}-${id.slice(16, 20)}-${id.slice(20)}`;
  const parsed: JobName = { type: type!.toLowerCase() as JobType, instanceId };
  if (second !== undefined) return { ...parsed, sourceState: first, transitionKey: second };
  return first === undefined ? parsed : { ...parsed, transitionKey: decodeField(first) };
}

const decodeField = (field: string) =>
  field.startsWith("~") ? Buffer.from(field.slice(1), "base64url").toString("utf8") : field;
