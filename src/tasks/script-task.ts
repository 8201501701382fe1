/**
 * Task type 7: its mapping is the task. Nothing is invoked between the two handlers; what the output
 * handler answers is the task's result.
 */
import { variableName } from "../engine/definition/variable-name.ts";
import type { JsonValue } from "../engine/exact-json.ts";
import type { TaskOutcome } from "../engine/transition/advance.ts";
import type { ResponseValue, ScriptAnswer } from "../scripting/contract.ts";
import type { ScriptHost } from "../scripting/script-host.ts";
import type { TaskInvocation } from "./task-host.ts";

export async function runScriptTask(
  scripts: ScriptHost,
  { binding, definition, request }: TaskInvocation,
): Promise<TaskOutcome> {
  const name = variableName(definition.key);
  const { mapping } = binding;
  // Without a script of its own (`type: "G"`) there is nothing to do and nothing to merge.
  if (mapping === undefined || mapping.type === "global") {
    return { name, response: undefined, data: undefined };
  }
  const { key, domain, version, kind: flow } = definition;
  const config = (definition.attributes["config"] ?? {}) as Record<string, unknown>;
  const task = { type: "7", key, domain, version, flow, config };
  const input = await scripts.run("mapping.input", request(mapping), { task });
  const output = await scripts.run("mapping.output", request(mapping));
  const { data } = output.value as ResponseValue;
  return {
    name,
    response: { data: (data ?? null) as JsonValue, isSuccess: true, taskType: "Script" },
    data: data === null ? undefined : (data as JsonValue),
    ...effectsOf(input, output),
  };
}

/** What both handlers left behind; the later one wins. */
export function effectsOf(
  ...answers: readonly ScriptAnswer[]
): Pick<TaskOutcome, "stage" | "metaData"> {
  let stage: string | null | undefined;
  const metaData: Record<string, JsonValue> = {};
  for (const answer of answers) {
    if (answer.stage !== undefined) stage = answer.stage;
    Object.assign(metaData, answer.metaData);
  }
  return {
    ...(stage === undefined ? {} : { stage }),
    ...(Object.keys(metaData).length === 0 ? {} : { metaData }),
  };
}
