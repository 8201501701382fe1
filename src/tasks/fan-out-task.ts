/**
 * Task type 21: one task for each item of a list, several at a time, joined into one result and one
 * write. Every item has a task of its own to change (`ItemInputHandler`) and a stable key of its own;
 * what its handlers leave in the context is dropped.
 */
import type { Component } from "../engine/component.ts";
import { ComponentKind } from "../engine/component-kind.ts";
import { taskType } from "../engine/definition/enumerations.ts";
import { readReference } from "../engine/definition/reference.ts";
import type { ScriptCode } from "../engine/definition/script-code.ts";
import { variableName } from "../engine/definition/variable-name.ts";
import { taskTypeCodes } from "../engine/enumeration-codes.ts";
import {
  isJsonObject,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from "../engine/exact-json.ts";
import { StepFailed, type TaskFailure } from "../engine/task-failure.ts";
import type { TaskOutcome } from "../engine/transition/happenings.ts";
import type { HandlerKind, ResponseValue, ScriptAnswer } from "../scripting/contract.ts";
import type { ScriptArguments } from "../scripting/script-host.ts";
import {
  fanOutLimits,
  forScript,
  itemsOf,
  packaged,
  readPlan,
  resultOf,
  shortfall,
  valueAt,
  type FanOutItem,
  type FanOutPlan,
  type FanOutResult,
  type ItemEnd,
} from "./fan-out-plan.ts";
import { mappingHandlers, type MappingHandlers } from "./mapping-handlers.ts";
import { runBatch } from "./run-batch.ts";
import { configOf } from "./run-mapped-task.ts";
import type { SeenByScript, TaskInvocation } from "./task-host.ts";
import type { TaskConfig, TaskPorts, TaskType } from "./task-type.ts";

const name = "FanOut";

export const fanOutTask: TaskType = {
  name,
  // Its task may do anything.
  isEffectful: () => true,
  run: runFanOut,
};

async function runFanOut(ports: TaskPorts, invocation: TaskInvocation): Promise<TaskOutcome> {
  const { definition, signal } = invocation;
  const startedAt = performance.now();
  const plan = readPlan(configOf(invocation));
  const script = scriptOf(ports, invocation);
  const inner = await innerTask(ports, definition);
  const items = itemsOf(await valuesOf(plan, invocation, script));
  if (items.length > fanOutLimits.items) {
    const message = `it has ${items.length} items, and at most ${fanOutLimits.items} are allowed. Start a subprocess for each part of the list.`;
    throw refused(definition, "Items", message);
  }
  const runItem = async (item: FanOutItem, itemSignal: AbortSignal): Promise<TaskOutcome> => {
    const work = async () => {
      const config = await itemConfig(script, inner, item);
      return ports.runTask(itemInvocation(invocation, inner, item, config, itemSignal));
    };
    if (!ports.isEffectful(inner, undefined)) return work();
    const part = { suffix: `#${item.index}`, taskKey: inner.key };
    return invocation.once === undefined ? work() : invocation.once(part, work);
  };
  const weigh = createScale();
  const { ends, timedOut } = await runBatch(plan, items, signal, async (item, itemSignal) =>
    weigh(await runItem(item, itemSignal)),
  );
  signal.throwIfAborted();

  const result = resultOf(plan, ends, timedOut);
  const failure = failureOf(plan, definition.key, result);
  const response: JsonObject = {
    data: packaged(plan, result),
    isSuccess: failure === undefined,
    ...(failure === undefined ? {} : { errorMessage: failure.message }),
    executionDurationMs: Math.round(performance.now() - startedAt),
    taskType: name,
  };
  const taskName = variableName(definition.key);
  const data = await outputOf(script, taskName, response, result);
  return { name: taskName, response, data, failure, ...script?.handlers.effects() };
}

/** Lets results through as long as all of them together can be kept. */
function createScale(): (outcome: TaskOutcome) => TaskOutcome {
  let characters = 0;
  return (outcome) => {
    const data = isJsonObject(outcome.response) ? outcome.response["data"] : undefined;
    characters += data === undefined ? 0 : stringifyJson(data).length;
    if (characters <= fanOutLimits.characters) return outcome;
    throw new StepFailed({
      code: "FanOut:TooLarge",
      layer: "Task",
      message: `The results are larger than ${fanOutLimits.characters} characters together. Ask for less per item, or for fewer items.`,
      retryable: false,
    });
  };
}

/** The mapping, when it has a script of its own; without one the tasks run as they are configured. */
interface FanOutScript {
  readonly handlers: MappingHandlers;
  run(
    kind: HandlerKind,
    seen?: Partial<SeenByScript>,
    args?: ScriptArguments,
  ): Promise<ScriptAnswer>;
}

function scriptOf(ports: TaskPorts, invocation: TaskInvocation): FanOutScript | undefined {
  const { binding, definition, request } = invocation;
  const mapping: ScriptCode | undefined = binding.mapping;
  if (mapping === undefined || mapping.type === "global") return undefined;
  return {
    handlers: mappingHandlers(ports.scripts, invocation, mapping, { code: "21", name }),
    async run(kind, seen, args) {
      try {
        return await ports.scripts.run(kind, request(mapping, seen), args);
      } catch (error) {
        if (!(error instanceof StepFailed)) throw error;
        const { failure } = error;
        const message = `${name} task mapping failed: ${failure.message}`;
        const named = { ...failure, task: definition.key, taskType: name, message };
        throw new StepFailed(named, { cause: error.cause });
      }
    },
  };
}

async function innerTask(ports: TaskPorts, definition: Component): Promise<Component> {
  const config = (definition.attributes["config"] ?? {}) as TaskConfig;
  const reference = readReference(config["task"], definition, ComponentKind.task);
  if (reference === undefined) {
    throw refused(definition, "Task", "its config names no 'task' to run for each item.");
  }
  const inner = await ports.loadTask(reference);
  if (taskType.read(inner.attributes["type"]) === "fanOut") {
    const message = `its task '${inner.key}' is a fan-out too. Start a subprocess per item instead.`;
    throw refused(definition, "Task", message);
  }
  return inner;
}

/** From the data or from the script: one of the two says what the items are. */
async function valuesOf(
  { itemsPath }: FanOutPlan,
  { definition, context }: TaskInvocation,
  script: FanOutScript | undefined,
): Promise<readonly JsonValue[]> {
  const answer = await script?.run("fanOut.items");
  if (answer !== undefined) script?.handlers.take(answer);
  const selected = (answer?.value ?? undefined) as JsonValue[] | undefined;
  if (itemsPath === undefined) {
    if (selected !== undefined) return selected;
    const message =
      "nothing says what the items are. Set 'itemsPath', or answer a list from ItemSelector.";
    throw refused(definition, "Items", message);
  }
  if (selected !== undefined) {
    const message = `both 'itemsPath' (${itemsPath}) and ItemSelector say what the items are. Remove one of them.`;
    throw refused(definition, "Items", message);
  }
  const value = valueAt(itemsPath, context.instance?.data);
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw refused(
    definition,
    "Items",
    `what stands at ${itemsPath} is no list. Let 'itemsPath' name one.`,
  );
}

const refused = ({ key }: Component, reason: string, message: string): StepFailed =>
  new StepFailed({
    code: `Task:${name}:${reason}`,
    layer: "Task",
    task: key,
    taskType: name,
    message: `Task '${key}' was not run: ${message}`,
    retryable: false,
  });

async function itemConfig(
  script: FanOutScript | undefined,
  inner: Component,
  { index, value, itemKey }: FanOutItem,
): Promise<TaskConfig> {
  const { key, domain, version, kind: flow } = inner;
  const config = (inner.attributes["config"] ?? {}) as TaskConfig;
  if (script === undefined) return config;
  const word = taskType.read(inner.attributes["type"]);
  const type = word === undefined ? "" : String(taskTypeCodes.codeOf(word));
  const answer = await script.run(
    "fanOut.itemInput",
    {},
    {
      task: { type, key, domain, version, flow, config },
      item: { Index: index, Value: value, ItemKey: itemKey },
    },
  );
  return answer.task ?? config;
}

/** The item's task is the inner one with the config that the handler left. */
const itemInvocation = (
  invocation: TaskInvocation,
  inner: Component,
  { index }: FanOutItem,
  config: TaskConfig,
  signal: AbortSignal,
): TaskInvocation => ({
  ...invocation,
  once: undefined,
  binding: { mapping: undefined },
  definition: { ...inner, attributes: { ...inner.attributes, config } },
  executionKey: `${invocation.executionKey}#${index}`,
  signal,
});

async function outputOf(
  script: FanOutScript | undefined,
  taskName: string,
  response: JsonObject,
  result: FanOutResult,
): Promise<JsonValue | undefined> {
  const ours = response["data"];
  if (script === undefined) return ours;
  const seen = script.handlers.seen({ name: taskName, value: response });
  const answer = await script.run("fanOut.output", seen, { result: forScript(result) });
  script.handlers.take(answer);
  const value = answer.value as ResponseValue | null;
  return value === null ? ours : ((value.data ?? undefined) as JsonValue | undefined);
}

function failureOf(plan: FanOutPlan, key: string, result: FanOutResult): TaskFailure | undefined {
  const reason = shortfall(plan, result);
  if (reason === undefined) return undefined;
  const first = result.ends.find(isCause);
  const example =
    first === undefined ? "" : ` Item '${first.item.itemKey}': ${first.errorMessage ?? ""}`;
  return {
    code: `Task:${name}:Join`,
    layer: "Task",
    task: key,
    taskType: name,
    message: `Task '${key}' failed: ${reason}${example}`,
    retryable: first?.retryable ?? false,
  };
}

/** A cancelled item is the consequence of another one. */
const isCause = ({ isSuccess, errorCode }: ItemEnd): boolean =>
  !isSuccess && errorCode !== "FanOut:ItemCancelled";
