/** Task type 20: a conversation with a language model, by the sidecar's API `v1.0-alpha2`. */
import {
  isExactNumber,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../engine/exact-json.ts";
import { daprPath } from "../outgoing/dapr-sidecar.ts";
import { callSidecar, daprName, metadataOf } from "./dapr-call.ts";
import { oneLine } from "./one-line.ts";
import { invalidRequest } from "./remote-call.ts";
import type { TaskCall, MappedTaskType } from "./task-type.ts";

const name = "DaprConversation";

export const daprConversationTask: MappedTaskType = {
  code: "20",
  name,
  stamp: "daprconversation",
  isEffectful: () => true,
  invoke(ports, call) {
    const component = daprName(call, name, "componentName");
    const { contextId, temperature, scrubPII, parameters } = call.config;
    return callSidecar(ports, call, {
      name,
      method: "POST",
      path: daprPath("v1.0-alpha2", "conversation", component, "converse"),
      body: {
        inputs: inputsOf(call),
        parameters: typedParameters(parameters),
        metadata: metadataOf(call),
        ...present("contextId", contextId),
        ...present("temperature", temperature),
        ...present("scrubPii", scrubPII),
      },
      metadata: { ComponentName: component },
    });
  },
};

const present = (member: string, value: unknown): JsonObject =>
  value === undefined || value === null ? {} : { [member]: value as JsonValue };

/**
 * One input is one conversation. Messages of the form `{ role, content }` make up one together; an
 * input that has `messages` is in the API's own form and goes out as it is.
 */
function inputsOf(call: TaskCall): JsonObject[] {
  const { inputs } = call.config;
  const given = Array.isArray(inputs) ? inputs.filter(isJsonObject) : [];
  if (given.length === 0) {
    throw invalidRequest(
      call,
      name,
      "its inputs are empty. Set config.inputs, or call SetInputs in its input handler, with messages such as { role: 'user', content: 'Hello' }.",
    );
  }
  const ready = given.filter((input) => Array.isArray(input["messages"]));
  const simple = given.filter((input) => !Array.isArray(input["messages"]));
  if (simple.length === 0) return ready;
  const scrubPii = simple.some((input) => input["scrubPII"] === true);
  const messages = simple.map((input) => messageOf(call, input));
  return [{ messages, ...(scrubPii ? { scrubPii } : {}) }, ...ready];
}

const roles: ReadonlyMap<string, string> = new Map([
  ["user", "ofUser"],
  ["system", "ofSystem"],
  ["assistant", "ofAssistant"],
  ["developer", "ofDeveloper"],
  ["tool", "ofTool"],
]);

function messageOf(
  call: TaskCall,
  { role, content, name: speaker, toolId }: JsonObject,
): JsonObject {
  const given = typeof role === "string" && role.trim() !== "" ? role.trim() : "user";
  const form = roles.get(given.toLowerCase());
  if (form === undefined) {
    throw invalidRequest(
      call,
      name,
      `the role of a message is '${oneLine(given)}'; it can be ${[...roles.keys()].join(", ")}.`,
    );
  }
  const parts = typeof content === "string" ? [{ text: content }] : (content ?? []);
  return {
    [form]: { ...present("name", speaker), ...present("toolId", toolId), content: parts },
  };
}

/** The API takes typed values only; plain ones get their type here. */
function typedParameters(parameters: unknown): JsonObject {
  if (!isJsonObject(parameters)) return {};
  const given = Object.entries(parameters).flatMap(([key, value]): [string, JsonValue][] =>
    value === null ? [] : [[key, typedValue(value)]],
  );
  return Object.fromEntries(given);
}

const typed = (type: string, value: JsonValue): JsonObject => ({
  "@type": `type.googleapis.com/google.protobuf.${type}`,
  value,
});

function typedValue(value: JsonValue): JsonValue {
  if (typeof value === "string") return typed("StringValue", value);
  if (typeof value === "boolean") return typed("BoolValue", value);
  if (typeof value === "number") {
    return Number.isSafeInteger(value)
      ? typed("Int64Value", String(value))
      : typed("DoubleValue", value);
  }
  if (isExactNumber(value)) return typed("DoubleValue", value);
  return isJsonObject(value) && "@type" in value ? value : typed("Value", value);
}
