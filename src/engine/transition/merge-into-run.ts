/** Data that comes into a run: what is merged, what is refused, and what is kept of it. */
import { nextDataVersion } from "../data-version.ts";
import type { VersionStrategy } from "../definition/enumerations.ts";
import type { TaskBinding } from "../definition/model.ts";
import { type JsonValue, isJsonObject, jsonEquals } from "../exact-json.ts";
import type { Instance } from "../instance.ts";
import type { SchemaError } from "../json-schema.ts";
import { jsonText } from "../json-text.ts";
import { mergeData } from "../merge-data.ts";
import { type Unstorable, findUnstorable } from "../storable-json.ts";
import type { TaskFailure } from "../task-failure.ts";
import { groupsOf } from "./hooks.ts";
import type { TaskOutcome } from "./happenings.ts";
import type { Hook, Program, Run, Tools } from "./run.ts";

/** What the master schema has against a payload, known before anything runs. */
export function errorsInMerge(
  { checkData }: Program,
  { data }: Instance,
  delta: JsonValue | undefined,
): readonly SchemaError[] {
  if (delta === undefined) return [];
  const merged = data === undefined ? delta : mergeData(data, delta);
  return merged === data ? [] : errorsIn(merged, checkData);
}

/**
 * What an instance can hold. Every read and every write moves all of it, so data that grow with each
 * request would one day take the node with them.
 */
export const mostDataCharacters = 16 * 1024 * 1024;

const errorsIn = (data: JsonValue, checkData: Program["checkData"]): readonly SchemaError[] =>
  jsonText(data).length > mostDataCharacters ? [tooLarge] : (checkData?.(data) ?? []);

const tooLarge: SchemaError = {
  path: "root",
  keyword: "size",
  message: `would be larger than ${mostDataCharacters} characters; keep large content elsewhere, and its address here`,
  schemaPath: "#",
};

type Merged = { run: Run; changed: boolean } | { errors: readonly SchemaError[] };

/** Identical content writes nothing: no version, no etag. */
export function merge(run: Run, delta: JsonValue, strategy: VersionStrategy, tools: Tools): Merged {
  const { instance, program } = run;
  const data = instance.data === undefined ? delta : mergeData(instance.data, delta);
  if (data === instance.data) return { run, changed: false };
  const errors = errorsIn(data, program.checkData);
  if (errors.length > 0) return { errors };
  const dataVersion = nextDataVersion(instance.dataVersion, strategy);
  const entityEtag = tools.ulid();
  return {
    run: { ...run, instance: { ...instance, data, dataVersion, entityEtag } },
    changed: true,
  };
}

/** `binding` is the task whose output was refused; none when several contradict each other. */
type Taken = Run | { failure: TaskFailure; binding?: TaskBinding | undefined };

/** Outputs are merged in the order the tasks are declared, whichever ended first. */
export function takeOutcomes(run: Run, outcomes: readonly TaskOutcome[], tools: Tools): Taken {
  const failure = conflictIn(outcomes);
  if (failure !== undefined) return { failure };
  let next: Run = { ...run, group: run.group + 1, failedAttempts: {} };
  for (const [i, outcome] of outcomes.entries()) {
    const { name, response, data, stage, metaData, body, responses } = outcome;
    if (stage !== undefined) {
      next = { ...next, instance: { ...next.instance, stage: stage ?? undefined } };
    }
    if (metaData !== undefined) next = { ...next, metaData: { ...next.metaData, ...metaData } };
    if (body !== undefined) next = { ...next, body: joinBody(next.body, body) };
    if (responses !== undefined) {
      next = { ...next, taskResponses: { ...next.taskResponses, ...responses } };
    }
    if (response !== undefined) {
      const taskResponses = { ...next.taskResponses, [name]: response };
      next = { ...next, body: joinBody(next.body, response), taskResponses };
    }
    if (data === undefined) continue;
    const found = findUnstorable(data);
    const binding = groupsOf(run, run.phase as Hook)[run.group]?.tasks[i];
    const task = binding?.task.key ?? name;
    if (found !== undefined) return { failure: outputUnstorable(task, found), binding };
    const merged = merge(next, data, "patch", tools);
    if ("errors" in merged) return { failure: outputRefused(task, merged.errors), binding };
    if (merged.changed) next = withChange(merged.run, data);
  }
  return next;
}

/** Tasks that ran side by side must not have said different things about one thing. */
export function conflictIn(outcomes: readonly TaskOutcome[]): TaskFailure | undefined {
  if (outcomes.length < 2) return undefined;
  const stages = new Set(outcomes.flatMap(({ stage }) => (stage === undefined ? [] : [stage])));
  if (stages.size > 1) {
    return conflict("Parallel tasks produced conflicting instance Stage mutations.");
  }
  const metaDataKey = conflictingKey(outcomes.map(({ metaData = {} }) => metaData));
  if (metaDataKey !== undefined) {
    return conflict(`Parallel tasks produced conflicting metadata for key '${metaDataKey}'.`);
  }
  const outputKey = conflictingKey(
    outcomes.map(({ name, response, responses }) => ({
      ...responses,
      ...(response === undefined ? {} : { [name]: response }),
    })),
  );
  return outputKey === undefined
    ? undefined
    : conflict(`Parallel tasks produced conflicting output for key '${outputKey}'.`);
}

const conflict = (message: string): TaskFailure => ({
  code: "Task:400010",
  layer: "Task",
  message,
  retryable: false,
});

function conflictingKey(written: readonly Readonly<Record<string, JsonValue>>[]) {
  const seen = new Map<string, JsonValue>();
  for (const [key, value] of written.flatMap((values) => Object.entries(values))) {
    const before = seen.get(key);
    if (before !== undefined && !jsonEquals(before, value)) return key;
    seen.set(key, value);
  }
  return undefined;
}

/** Only objects can be joined; a text or a list is found under the task's name alone. */
export function joinBody(body: JsonValue | undefined, response: JsonValue): JsonValue | undefined {
  if (!isJsonObject(response)) return body;
  return body === undefined ? response : mergeData(body, response);
}

export function withChange(run: Run, delta: JsonValue): Run {
  const { instance, pending, record, changes } = run;
  const change = {
    recordSeq: record.seq,
    index: changes,
    version: instance.dataVersion!,
    entityEtag: instance.entityEtag,
    delta,
  };
  return {
    ...run,
    changes: changes + 1,
    pending: { ...pending, dataChanges: [...pending.dataChanges, change] },
  };
}

const outputUnstorable = (task: string, { path, reason }: Unstorable): TaskFailure => ({
  code: "Task:400008",
  layer: "Task",
  task,
  message: `The output of task '${task}' cannot be stored${path === "" ? "" : ` at '${path}'`}: ${reason}`,
  retryable: false,
});

const outputRefused = (task: string, errors: readonly SchemaError[]): TaskFailure => ({
  code: "App:900002",
  layer: "Task",
  task,
  message: `The output of task '${task}' does not fit the workflow's schema: ${errors.map((e) => `${e.path} ${e.message}`).join("; ")}`,
  retryable: false,
});

/** What the caller of a retry sends along is merged before the failed work begins again. */
export function withRetryData(run: Run, attributes: JsonValue, tools: Tools): Run {
  if (run.phase === "mapping") {
    const before = run.payload.attributes;
    const joined = before === undefined ? attributes : mergeData(before, attributes);
    return { ...run, payload: { ...run.payload, attributes: joined } };
  }
  const merged = merge(run, attributes, run.hop.transition.versionStrategy, tools);
  // It was checked when it arrived; what has changed since then decides.
  if ("errors" in merged) return run;
  const next = merged.changed ? withChange(merged.run, attributes) : run;
  return { ...next, body: joinBody(next.body, attributes) };
}
