/**
 * The closed sets of the definition model. Definitions spell them as numbers, letters or words in
 * any case; the engine knows only the words. The schemas in `schemas/common.json` accept the same
 * spellings, and a test keeps both equal.
 */

export interface Enumeration<Word extends string> {
  readonly words: readonly Word[];
  /** The word for any accepted spelling, `undefined` for anything else. */
  read(value: unknown): Word | undefined;
}

type WordOf<E> = E extends Enumeration<infer Word> ? Word : never;

/** Each row: a word, and its other spellings. */
function enumeration<const Word extends string>(
  rows: Record<Word, readonly (string | number)[]>,
): Enumeration<Word> {
  const bySpelling = new Map<string, Word>();
  const words = Object.keys(rows) as Word[];
  for (const word of words) {
    for (const spelling of [word, ...rows[word]]) {
      bySpelling.set(String(spelling).toLowerCase(), word);
    }
  }
  return {
    words,
    read(value) {
      if (typeof value !== "string" && typeof value !== "number") return undefined;
      return bySpelling.get(String(value).toLowerCase());
    },
  };
}

export const workflowType = enumeration({
  core: ["C"],
  flow: ["F"],
  subFlow: ["S"],
  subProcess: ["P"],
});
export type WorkflowType = WordOf<typeof workflowType>;

export const stateType = enumeration({
  initial: [1],
  intermediate: [2],
  finish: [3],
  subFlow: [4],
  wizard: [5],
});
export type StateType = WordOf<typeof stateType>;

export const stateSubType = enumeration({
  none: [0],
  success: [1],
  error: [2],
  terminated: [3],
  suspended: [4],
  busy: [5],
  human: [6],
  cancelled: [7],
  timeout: [8],
});
export type StateSubType = WordOf<typeof stateSubType>;

export const triggerType = enumeration({
  manual: [0],
  automatic: [1],
  scheduled: [2],
  event: [3],
});
export type TriggerType = WordOf<typeof triggerType>;

export const triggerKind = enumeration({
  none: [0, "notApplicable"],
  default: [10, "defaultAutoTransition"],
});
export type TriggerKind = WordOf<typeof triggerKind>;

export const versionStrategy = enumeration({ none: [], patch: [], minor: [], major: [] });
export type VersionStrategy = WordOf<typeof versionStrategy>;

export const executionType = enumeration({ sync: ["S"], async: ["A"] });
export type ExecutionType = WordOf<typeof executionType>;

export const errorAction = enumeration({
  abort: [0],
  retry: [1],
  rollback: [2],
  ignore: [3],
  notify: [4],
  log: [5],
});
export type ErrorAction = WordOf<typeof errorAction>;

export const backoffType = enumeration({ fixed: [0], exponential: [1] });
export type BackoffType = WordOf<typeof backoffType>;

export const subFlowType = enumeration({ subFlow: ["S"], subProcess: ["P"] });
export type SubFlowType = WordOf<typeof subFlowType>;

export const resourceLockAction = enumeration({ acquire: [], release: [], extend: [] });
export type ResourceLockAction = WordOf<typeof resourceLockAction>;

export const notificationType = enumeration({ state: [0] });
export type NotificationType = WordOf<typeof notificationType>;

export const grant = enumeration({ allow: [], deny: [] });
export type Grant = WordOf<typeof grant>;

export const scriptType = enumeration({ local: ["L"], global: ["G"] });
export type ScriptType = WordOf<typeof scriptType>;

export const scriptEncoding = enumeration({
  base64: ["B64"],
  native: ["NAT"],
  reference: ["REF"],
});
export type ScriptEncoding = WordOf<typeof scriptEncoding>;

export const viewType = enumeration({
  json: [1],
  html: [2],
  markdown: [3],
  deepLink: [4],
  http: [5],
  urn: [6],
});
export type ViewType = WordOf<typeof viewType>;

export const functionScope = enumeration({ domain: ["D"], flow: ["F"], instance: ["I"] });
export type FunctionScope = WordOf<typeof functionScope>;

export const functionVerb = enumeration({ GET: [], POST: [], PATCH: [], DELETE: [] });
export type FunctionVerb = WordOf<typeof functionVerb>;

export const extensionType = enumeration({
  global: [1],
  globalAndRequested: [2],
  definedFlows: [3],
  definedFlowAndRequested: [4, "definedFlowsAndRequested"],
});
export type ExtensionType = WordOf<typeof extensionType>;

export const extensionScope = enumeration({
  getInstance: [1],
  getAllInstances: [2],
  everywhere: [3],
});
export type ExtensionScope = WordOf<typeof extensionScope>;

/** The public names end in "Task" (`SoapTask`); with and without are the same. */
export const taskType = enumeration({
  daprHttpEndpoint: [1, "daprHttpEndpointTask"],
  daprBinding: [2, "daprBindingTask"],
  daprService: [3, "daprServiceTask"],
  daprPubSub: [4, "daprPubSubTask"],
  human: [5, "humanTask"],
  http: [6, "httpTask"],
  script: [7, "scriptTask"],
  condition: [8, "conditionTask"],
  timer: [9, "timerTask"],
  notification: [10, "notificationTask"],
  startTrigger: [11, "startTriggerTask"],
  directTrigger: [12, "directTriggerTask"],
  getInstanceData: [13, "getInstanceDataTask"],
  subProcess: [14, "subProcessTask"],
  getInstances: [15, "getInstancesTask"],
  soap: [16, "soapTask"],
  stateStore: [17, "stateStoreTask"],
  cacheAside: [18, "cacheAsideTask"],
  getInstance: [19, "getInstanceTask"],
  daprConversation: [20, "daprConversationTask"],
  fanOut: [21, "fanOutTask"],
  externalHttp: [22, "externalHttpTask"],
  python: [23, "pythonTask"],
});
export type TaskType = WordOf<typeof taskType>;
