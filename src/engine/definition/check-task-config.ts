/**
 * What each task type needs in its config beyond the shapes in `schemas/sys-tasks.json`.
 *
 * A task's mapping script may set most members at run time, so what it could set is only warned
 * about when it is missing. What the specification calls required, and what no script can set, is
 * required by the schema.
 */
import { ComponentKind } from "../component-kind.ts";
import { maxPage, maxPageSizeOfTasks } from "../instance-query/instance-query.ts";
import { checkErrorBoundary } from "./check-error-boundary.ts";
import { checkReference } from "./check-reference.ts";
import { checkScriptCode } from "./check-script-code.ts";
import type { TaskType } from "./enumerations.ts";
import { at, type Report } from "./findings.ts";
import { asList, asObject, asText, enumerate, isPresent, type JsonObject, show } from "./json.ts";

type ConfigCheck = (report: Report, path: string, config: JsonObject) => void;

interface ConfigRules {
  /** Members the task cannot run without, which a mapping may set. */
  readonly settable?: readonly string[];
  /** The type does its work without settings. */
  readonly configOptional?: boolean;
  readonly note?: string;
  readonly check?: ConfigCheck;
}

export const configRules: Record<TaskType, ConfigRules> = {
  daprHttpEndpoint: {
    settable: ["endpointName", "path"],
    note: needsSidecar("1 (Dapr HTTP endpoint)"),
  },
  daprBinding: { note: needsSidecar("2 (Dapr binding)") },
  daprService: { settable: ["appId", "methodName"], note: needsSidecar("3 (Dapr service)") },
  daprPubSub: { settable: ["pubSubName", "topic"], note: needsSidecar("4 (Dapr pub/sub)") },
  human: {
    configOptional: true,
    note: "Tasks of type 5 (human) do nothing but answer 'Pending'; use a state that waits for a person.",
  },
  http: { settable: ["url"] },
  script: { configOptional: true },
  condition: {
    configOptional: true,
    note: "Tasks of type 8 (condition) cannot run; use the rule of an automatic transition.",
  },
  timer: {
    configOptional: true,
    note: "Tasks of type 9 (timer) cannot run; use a scheduled transition.",
  },
  notification: { check: checkNotification },
  startTrigger: { settable: ["domain", "flow"] },
  directTrigger: { settable: ["domain", "flow", "transitionName"] },
  getInstanceData: { settable: ["domain", "flow"] },
  subProcess: { settable: ["domain", "flow"] },
  getInstances: { settable: ["domain", "flow"], check: checkPaging },
  soap: { check: checkSoap },
  stateStore: { check: checkStateStore },
  cacheAside: { check: checkCacheAside },
  getInstance: { settable: ["domain", "flow"] },
  daprConversation: { note: needsSidecar("20 (Dapr conversation)") },
  fanOut: { check: checkFanOut },
  externalHttp: { settable: ["url"] },
  python: {
    note: "Tasks of type 23 (python) are experimental and cannot run here.",
    check: (report, path, config) =>
      checkScriptCode(report, at(path, "script"), config["script"], "code"),
  },
};

/** Whether there is one is the runtime's to know, and may change after the publish. */
function needsSidecar(type: string): string {
  return `Tasks of type ${type} need a Dapr sidecar; they fail where Dapr.HttpEndpoint is not configured.`;
}

export function checkTaskConfig(
  report: Report,
  path: string,
  config: JsonObject,
  type: TaskType,
): void {
  const { settable = [], check } = configRules[type];
  warnMissing(report, path, config, settable);
  check?.(report, path, config);
}

function warnMissing(
  report: Report,
  path: string,
  config: JsonObject,
  members: readonly string[],
): void {
  for (const member of members) {
    if (isPresent(config[member]) && config[member] !== "") continue;
    report.warning(
      at(path, member),
      `'${member}' is missing; the task fails unless its mapping sets it.`,
    );
  }
}

/** Older packages have no channels: their notifications are all of the state. */
function checkNotification(report: Report, path: string, config: JsonObject): void {
  const channels = asList(config["channels"]);
  if (channels.length === 0 && config["includeStateChannel"] === false) {
    report.warning(
      at(path, "channels"),
      "'channels' names none, and the state channel is off: the task sends nothing.",
    );
  } else if (!isPresent(config["channels"])) {
    report.warning(
      at(path, "channels"),
      "'channels' is missing; only the state channel is notified.",
    );
  }
  for (const [i, channel] of channels.entries()) {
    if (channels.indexOf(channel) === i) continue;
    report.warning(at(path, "channels", i), `The channel ${show(channel)} is listed twice.`);
  }
}

/** The url is required; a blank one is what a package has whose mapping sets it. */
function checkSoap(report: Report, path: string, config: JsonObject): void {
  if (config["url"] === "") warnMissing(report, path, config, ["url"]);
}

/** What tasks may ask of their own domain; another domain's runtime has the limits of the API. */
const pagingLimits = { page: maxPage, pageSize: maxPageSizeOfTasks };

function checkPaging(report: Report, path: string, config: JsonObject): void {
  for (const [member, most] of Object.entries(pagingLimits)) {
    const value = config[member];
    if (typeof value !== "number") continue;
    if (value < 1) {
      report.warning(at(path, member), `'${member}' is ${value}; the default is used.`);
    } else if (value > most) {
      report.warning(at(path, member), `'${member}' is ${value}; the task fails above ${most}.`);
    }
  }
}

/**
 * Specification, "StateStore task config": what get, set and delete each work with. Packages fill in
 * every member, so a blank text and an empty list count as absent, here and when the task runs.
 */
function checkStateStore(report: Report, path: string, config: JsonObject): void {
  const { query } = config;
  if (typeof query === "string" && query !== "") {
    report.mistake(at(path, "query"), `'query' must be an object; got ${show(query)}.`);
  }
  const command = asText(config["command"])?.toLowerCase();
  if (command === "get") warnMissing(report, path, config, ["key"]);
  if (command === "set") {
    warnMissing(report, path, config, ["key"]);
    // null is a value like any other: only an absent member is missing.
    if (!("value" in config)) warnMissing(report, path, config, ["value"]);
  }
  if (command === "delete") checkDelete(report, path, config);
}

function checkDelete(report: Report, path: string, config: JsonObject): void {
  const given = ["key", "keys", "query"].filter((member) => isGiven(config[member]));
  if (given.length === 0) warnMissing(report, path, config, ["key"]);
  if (given.length > 1) {
    report.mistake(
      path,
      `A delete takes exactly one of 'key', 'keys' and 'query'; it has ${enumerate(given)}.`,
    );
  }
}

const isGiven = (value: unknown): boolean =>
  isPresent(value) && value !== "" && !(Array.isArray(value) && value.length === 0);

function checkCacheAside(report: Report, path: string, config: JsonObject): void {
  checkReference(report, at(path, "sourceTask"), config["sourceTask"], ComponentKind.task);
  checkScriptCode(report, at(path, "sourceMapping"), config["sourceMapping"]);
  checkScriptCode(report, at(path, "keyExpression"), config["keyExpression"], "code");
  checkScriptCode(report, at(path, "key"), config["key"], "code");
  if (!isPresent(config["keyExpression"])) warnMissing(report, path, config, ["key"]);
}

function checkFanOut(report: Report, path: string, config: JsonObject): void {
  checkReference(report, at(path, "task"), config["task"], ComponentKind.task);
  checkErrorBoundary(report, at(path, "errorBoundary"), config["errorBoundary"], undefined);
  if (isPresent(config["errorBoundary"])) {
    report.warning(
      at(path, "errorBoundary"),
      "'errorBoundary' has no effect here: what a failed item means is said by 'join', and the task as a whole has the boundary of the hook that runs it.",
    );
  }
  warnMissing(report, path, config, ["itemsPath"]);
  const join = asObject(config["join"]);
  const isQuorum = asText(join?.["policy"])?.toLowerCase() === "quorum";
  if (isQuorum && !isPresent(join?.["minSuccess"])) {
    report.mistake(
      at(path, "join", "minSuccess"),
      "The policy quorum needs 'minSuccess', the number of successes that is enough.",
    );
  }
  for (const [i, part] of asText(config["itemsPath"])?.split(".").entries() ?? []) {
    if (i === 0 ? part === "$" : part !== "") continue;
    report.mistake(
      at(path, "itemsPath"),
      `The path ${show(config["itemsPath"])} must be like $.orders.lines.`,
    );
    return;
  }
}
