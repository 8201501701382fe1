/** The instances of one workflow, as a client of the API drives them. */
import { expect } from "vitest";
import type { Answer, TestRuntime } from "./start-runtime.ts";
import { defaultDomain } from "./a-workflow.ts";

type Headers = Record<string, string>;

export interface Sent {
  /** Query string without the question mark; `sync=true` unless given. */
  query?: string;
  headers?: Headers;
}

export interface InstanceBody {
  id: string;
  key?: string;
  flowVersion: string;
  eTag: string;
  entityEtag: string;
  tags: string[];
  metadata: {
    currentState: string;
    effectiveState: string;
    status: string;
    stage?: string;
    [name: string]: unknown;
  };
  attributes?: Record<string, unknown>;
}

export interface HistoryRecord {
  id: string;
  transitionKey: string;
  fromState: string;
  toState?: string;
  stage: string | null;
  triggerType: string;
  startedAt: string;
  finishedAt?: string;
  body?: unknown;
  header?: Record<string, string>;
  [name: string]: unknown;
}

export type Instances = ReturnType<typeof instancesOf>;

export function instancesOf(app: TestRuntime, workflow: string, domain = defaultDomain) {
  const path = `/api/v1/${domain}/workflows/${workflow}/instances`;
  const pathOf = (instance: string) => `${path}/${encodeURIComponent(instance)}`;

  const start = (body?: unknown, { query = "sync=true", headers }: Sent = {}) =>
    app.post(`${path}/start?${query}`, body, headers);

  return {
    path,
    start,
    /** Starts one to its first rest and answers with its id. */
    async begin(body?: unknown, sent: Sent = {}): Promise<string> {
      const answer = await start(body, sent);
      expect(answer).toMatchObject({ status: 200 });
      return idOf(answer);
    },
    send: (
      instance: string,
      transition: string,
      body?: unknown,
      { query = "sync=true", headers }: Sent = {},
    ) =>
      app.patch(
        `${pathOf(instance)}/transitions/${encodeURIComponent(transition)}?${query}`,
        body,
        headers,
      ),
    get: (instance: string, { query = "", headers }: Sent = {}) =>
      app.get(`${pathOf(instance)}?${query}`, headers),
    async read(instance: string, query = ""): Promise<InstanceBody> {
      const answer = await app.get(`${pathOf(instance)}?${query}`);
      expect(answer).toMatchObject({ status: 200 });
      return answer.body as InstanceBody;
    },
    async history(instance: string): Promise<HistoryRecord[]> {
      const answer = await app.get(`${pathOf(instance)}/transitions`);
      expect(answer).toMatchObject({ status: 200 });
      return (answer.body as { transitions: HistoryRecord[] }).transitions;
    },
    list: (query = "") => app.get(`${path}?${query}`),
  };
}

export const idOf = (answer: Answer): string => (answer.body as { id: string }).id;

/** `409 conflict.Instance:100031`, or the bare status of what is no problem. */
export function codeOf({ status, body }: Answer): string {
  const code = (body as { errorCode?: string } | undefined)?.errorCode;
  return code === undefined ? String(status) : `${status} ${code}`;
}

/** `start: draft-draft`, `submit: draft-review`, … */
export const movesOf = (records: readonly HistoryRecord[]): string[] =>
  records.map(
    ({ transitionKey, fromState, toState }) => `${transitionKey}: ${fromState}-${toState}`,
  );
