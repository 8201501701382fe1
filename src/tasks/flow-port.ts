/**
 * Other instances, as tasks reach them: in this process where the domain is ours, over HTTP at the
 * address of another domain's runtime. Both answer as the API does, with its statuses and its bodies.
 */
import type { JsonValue } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";

export interface Flows {
  /** Asked twice with the same `instanceId`, it starts one instance and answers with it both times. */
  start(call: StartCall): Promise<FlowAnswer>;
  /** The same for a child that runs on its own. */
  startSubProcess(call: SubProcessCall): Promise<FlowAnswer>;
  /** Asked twice with the same `executionKey`, it runs once and answers with the first outcome. */
  transition(call: TransitionCall): Promise<FlowAnswer>;
  /** `{ data, eTag, entityEtag, extensions }`. */
  getData(call: ReadCall): Promise<FlowAnswer>;
  getInstance(call: ReadCall): Promise<FlowAnswer>;
  /** `{ links, items }`. */
  listInstances(call: ListCall): Promise<FlowAnswer>;
}

/** A refusal (404, 409, …) is an answer. What gives none is thrown: `OutgoingFailed`, say. */
export interface FlowAnswer {
  readonly status: number;
  readonly data: JsonValue | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** `conflict.Instance:100031`. */
  readonly errorCode?: string | undefined;
  readonly errorMessage?: string | undefined;
}

export interface FlowCall {
  readonly domain: string;
  readonly workflow: string;
  /** The task's own, and who acts: identity travels as headers everywhere. */
  readonly headers: Readonly<Record<string, string>>;
  readonly traceId: string | undefined;
  /** The same in every attempt. */
  readonly executionKey: string;
  /** How many calls of tasks led to this one, itself included. */
  readonly triggerDepth: number;
  readonly validateTls: boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** What changes something. */
interface TriggerCall extends FlowCall {
  readonly sync: boolean;
  readonly tags: readonly string[];
  readonly body: JsonValue | undefined;
}

export interface StartCall extends TriggerCall {
  readonly instanceId: string;
  readonly version: string | undefined;
  readonly key: string | undefined;
}

export interface SubProcessCall extends StartCall {
  /** None in a function of a domain. */
  readonly parent: Instance | undefined;
  readonly correlationId: string;
}

export interface TransitionCall extends TriggerCall {
  /** Id or key. */
  readonly instance: string;
  readonly transitionKey: string;
}

export interface ReadCall extends FlowCall {
  /** Id or key. */
  readonly instance: string;
  readonly extensions: readonly string[];
}

/** The query as texts, as the API takes it. */
export interface ListCall extends FlowCall {
  readonly query: Readonly<Partial<Record<"page" | "pageSize" | "sort" | "filter", string>>>;
}

/** The flows of a domain with an address of its own; undefined where none is configured. */
export type RemoteFlows = (domain: string) => Flows | undefined;

/** Nobody knows where the domain is. */
export class UnknownDomain extends Error {
  override readonly name = "UnknownDomain";

  constructor(domain: string, served: string) {
    super(
      `The domain '${domain}' is not served here, where '${served}' is, and has no address. Correct the domain, or add '${domain}=https://…' to Domains.Addresses.`,
    );
  }
}
