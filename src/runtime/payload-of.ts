import type { Payload, Program, SentRequest } from "../engine/transition/run.ts";

export interface PayloadRequest {
  payload: Payload;
  /** The request itself; asked for only when a script of the workflow may read it. */
  sent?: () => SentRequest;
}

/** What a run is given, and what a job carries: the payload, and of the request what scripts use. */
export const payloadOf = ({ readsRequest }: Program, { payload, sent }: PayloadRequest): Payload =>
  readsRequest === true && sent !== undefined ? { ...payload, sent: sent() } : payload;
