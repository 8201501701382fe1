/**
 * The two handlers of a task's mapping. Each runs on an object of its own; what the first one leaves
 * in the context (`MetaData`, `SetBody`, the stage) the second one finds there.
 */
import type { ScriptCode } from "../engine/definition/script-code.ts";
import { isJsonObject, type JsonValue } from "../engine/exact-json.ts";
import { mergeData } from "../engine/merge-data.ts";
import { StepFailed } from "../engine/task-failure.ts";
import type { TaskOutcome } from "../engine/transition/happenings.ts";
import type { ResponseValue, ScriptAnswer, TaskDefinition } from "../scripting/contract.ts";
import type { ScriptHost } from "../scripting/script-host.ts";
import type { SeenByScript, TaskInvocation } from "./task-host.ts";

/** What scripts did to the context beside answering. */
export type ScriptEffects = Pick<TaskOutcome, "stage" | "metaData" | "body" | "responses">;

export interface MappingHandlers {
  /** The task's config as the handler left it. */
  input(): Promise<Readonly<Record<string, unknown>>>;
  /** The `Data` of the output handler, which sees the task's response; undefined for none. */
  output(response?: { name: string; value: JsonValue }): Promise<JsonValue | undefined>;
  /** What the next handler finds changed in the context. */
  seen(response?: { name: string; value: JsonValue }): Partial<SeenByScript>;
  /** Takes over what another handler of the same script did. */
  take(answer: ScriptAnswer): void;
  effects(): ScriptEffects;
}

export interface MappedBy {
  readonly code: string;
  /** The word for the task's type in messages. */
  readonly name: string;
  /** Where the script may do without an output handler. */
  readonly outputKind?: "mapping.output" | "notification.output";
}

export function mappingHandlers(
  scripts: ScriptHost,
  { definition, context, request, onReply }: TaskInvocation,
  script: ScriptCode,
  { code, name, outputKind = "mapping.output" }: MappedBy,
): MappingHandlers {
  const { key, domain, version, kind: flow } = definition;
  const config = (definition.attributes["config"] ?? {}) as Record<string, unknown>;
  const task: TaskDefinition = { type: code, key, domain, version, flow, config };
  let effects: ScriptEffects = {};

  const call = async (
    side: "input" | "output",
    seen: Partial<SeenByScript>,
  ): Promise<ScriptAnswer> => {
    const [kind, args] = side === "input" ? (["mapping.input", { task }] as const) : [outputKind];
    try {
      const answer = await scripts.run(kind, request(script, seen), args);
      effects = withEffects(effects, answer);
      return answer;
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
      const { failure } = error;
      const message = `${name} task ${side} handler failed: ${failure.message}`;
      const named = { ...failure, task: key, taskType: name, message };
      throw new StepFailed(named, { cause: error.cause });
    }
  };

  const seen: MappingHandlers["seen"] = (response) => {
    const { metaData, responses } = effects;
    const body = effects.body ?? context.body;
    return {
      ...(metaData === undefined ? {} : { metaData: { ...context.metaData, ...metaData } }),
      ...(effects.body === undefined && response === undefined
        ? {}
        : { body: response === undefined ? body : joinBody(body, response.value) }),
      ...(responses === undefined && response === undefined
        ? {}
        : {
            taskResponses: {
              ...context.taskResponses,
              ...responses,
              ...(response === undefined ? {} : { [response.name]: response.value }),
            },
          }),
    };
  };

  return {
    input: async () => (await call("input", {})).task ?? config,
    async output(response) {
      const value = (await call("output", seen(response))).value as ResponseValue | null;
      if (value !== null) onReply?.(value);
      return (value?.data ?? undefined) as JsonValue | undefined;
    },
    seen,
    take: (answer) => {
      effects = withEffects(effects, answer);
    },
    effects: () => effects,
  };
}

/** Only objects can be joined. */
const joinBody = (body: JsonValue | undefined, response: JsonValue): JsonValue | undefined => {
  if (!isJsonObject(response)) return body;
  return body === undefined ? response : mergeData(body, response);
};

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
