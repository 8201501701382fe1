/**
 * The two handlers of a task's mapping. Each runs on an object of its own; what the first one leaves
 * in the context (`MetaData`, `SetBody`, the stage) the second one finds there.
 */
import type { ScriptCode } from "../engine/definition/script-code.ts";
import type { JsonValue } from "../engine/exact-json.ts";
import { StepFailed } from "../engine/task-failure.ts";
import type { TaskOutcome } from "../engine/transition/advance.ts";
import type { ResponseValue, ScriptAnswer, TaskDefinition } from "../scripting/contract.ts";
import type { ScriptHost } from "../scripting/script-host.ts";
import type { SeenByScript, TaskInvocation } from "./task-host.ts";

/** What scripts did to the context beside answering. */
export type ScriptEffects = Pick<TaskOutcome, "stage" | "metaData" | "body" | "responses">;

export interface MappingHandlers {
  /** The task's config as the handler left it. */
  input(): Promise<Readonly<Record<string, unknown>>>;
  /** The `Data` of the output handler; undefined for none. */
  output(seen?: SeenByScript): Promise<JsonValue | undefined>;
  effects(): ScriptEffects;
}

/** `type` is the task's code, `name` the word for it in messages. */
export function mappingHandlers(
  scripts: ScriptHost,
  { definition, run, request }: TaskInvocation,
  script: ScriptCode,
  { type, name }: { type: string; name: string },
): MappingHandlers {
  const { key, domain, version, kind: flow } = definition;
  const config = (definition.attributes["config"] ?? {}) as Record<string, unknown>;
  const task: TaskDefinition = { type, key, domain, version, flow, config };
  let effects: ScriptEffects = {};

  const call = async (side: "input" | "output", seen: SeenByScript): Promise<ScriptAnswer> => {
    const args = side === "input" ? { task } : {};
    try {
      const answer = await scripts.run(`mapping.${side}`, request(script, seen), args);
      effects = withEffects(effects, answer);
      return answer;
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
      const { failure } = error;
      const message = `${name} task ${side} handler failed: ${failure.message}`;
      throw new StepFailed({ ...failure, task: key, message }, { cause: error.cause });
    }
  };

  return {
    input: async () => (await call("input", {})).task ?? config,
    async output(seen = {}) {
      const left: SeenByScript = {
        ...(effects.body === undefined ? {} : { body: effects.body }),
        ...(effects.metaData === undefined
          ? {}
          : { metaData: { ...run.metaData, ...effects.metaData } }),
        ...(effects.responses === undefined
          ? {}
          : { taskResponses: { ...run.taskResponses, ...effects.responses } }),
      };
      const { value } = await call("output", { ...left, ...seen });
      const { data } = value as ResponseValue;
      return data === null ? undefined : (data as JsonValue);
    },
    effects: () => effects,
  };
}

/** The later answer wins. */
function withEffects(before: ScriptEffects, answer: ScriptAnswer): ScriptEffects {
  const { stage, body, metaData, taskResponse } = answer;
  return {
    ...before,
    ...(stage === undefined ? {} : { stage }),
    ...(body === undefined ? {} : { body: body as JsonValue }),
    ...(metaData === undefined ? {} : { metaData: joined(before.metaData, metaData) }),
    ...(taskResponse === undefined ? {} : { responses: joined(before.responses, taskResponse) }),
  };
}

const joined = (
  before: Readonly<Record<string, JsonValue>> | undefined,
  now: Readonly<Record<string, unknown>>,
) => ({ ...before, ...(now as Record<string, JsonValue>) });
