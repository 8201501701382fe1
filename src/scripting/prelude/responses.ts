/**
 * What handlers answer with. A plain object of the same shape is as good; `new` is for those who
 * like to see the name. Members may also be written in camelCase.
 */
import type { Dynamic } from "./dynamic.ts";

export class ScriptResponse {
  declare Key?: string | null;
  /** What is merged into the instance, or sent as the body, depending on the slot. */
  declare Data?: Dynamic;
  declare Headers?: Record<string, Dynamic> | null;
  declare StatusCode?: number | null;
  declare RouteValues?: Dynamic;
  declare Tags?: readonly string[] | null;
  /** Short for a `content-type` header. */
  declare ContentType?: string | null;
  declare key?: string | null;
  declare data?: Dynamic;
  declare headers?: Record<string, Dynamic> | null;
  declare statusCode?: number | null;
  declare routeValues?: Dynamic;
  declare tags?: readonly string[] | null;
  declare contentType?: string | null;

  constructor(members: Partial<ScriptResponse> = {}) {
    Object.assign(this, members);
  }
}

/** The message of one channel; answer null to skip the channel. */
export class NotificationMessage {
  Data: Dynamic;
  Metadata?: Record<string, string> = {};
  Operation?: string = "create";

  constructor(members: { Data: Dynamic; Metadata?: Record<string, string>; Operation?: string }) {
    Object.assign(this, members);
  }
}

/** Extra metadata of the state channel; becomes headers of the binding. */
export class StateNotificationMetadata {
  Metadata?: Record<string, string> = {};
  Operation?: string = "create";

  constructor(members: { Metadata?: Record<string, string>; Operation?: string } = {}) {
    Object.assign(this, members);
  }
}

export class EventMappingResult {
  /** Start: the key of the new instance. Transition: finds the active instance. */
  InstanceKey?: string | null = null;
  Body?: Dynamic = null;
  /** A filter that finds the instance; only for a transition without `InstanceKey`. */
  Selector?: Dynamic = null;

  constructor(members: { InstanceKey?: string | null; Body?: Dynamic; Selector?: Dynamic } = {}) {
    Object.assign(this, members);
  }
}

export interface FanOutItem {
  readonly Index: number;
  readonly Value: Dynamic;
  /** The item's `id`, else its `key`, else the index. */
  readonly ItemKey: string;
}

export interface FanOutItemResult {
  readonly Index: number;
  readonly ItemKey: string;
  readonly IsSuccess: boolean;
  readonly Data: Dynamic;
  readonly ErrorCode: string | null;
  readonly ErrorMessage: string | null;
  /** In milliseconds. */
  readonly Duration: number;
}

export interface FanOutResult {
  readonly Total: number;
  readonly Succeeded: number;
  /** Timed out ones included. */
  readonly Failed: number;
  /** The batch as a whole ran out of time. */
  readonly TimedOut: boolean;
  readonly Items: readonly FanOutItemResult[];
}
