/** From a published extension to what is run when an instance is read. */
import type { Component } from "../component.ts";
import {
  extensionScope,
  extensionType,
  type ExtensionScope,
  type ExtensionType,
} from "./enumerations.ts";
import { asObject, isPresent, type JsonObject } from "./json.ts";
import type { TaskBinding } from "./model.ts";
import { normaliseTask } from "./normalise-parts.ts";

export interface Extension {
  readonly key: string;
  readonly domain: string;
  readonly version: string;
  readonly type: ExtensionType;
  readonly scope: ExtensionScope;
  readonly task: TaskBinding | undefined;
}

const onRequest: ExtensionType = "definedFlowAndRequested";

/**
 * The public core package seeds a global extension that names its task in the authors' shorthand and
 * asks a Dapr sidecar for what the state function says here. It waits to be asked for: run on every
 * read, it would fail every read of a domain whose owner only published that package.
 */
const isShorthand = (binding: JsonObject | undefined): boolean => {
  const reference = asObject(binding?.["task"]);
  return isPresent(reference?.["ref"]) && !isPresent(reference?.["key"] ?? reference?.["id"]);
};

export function normaliseExtension({
  key,
  domain,
  version,
  attributes,
}: Pick<Component, "key" | "domain" | "version" | "attributes">): Extension {
  const task = asObject(attributes["task"]);
  return {
    key,
    domain,
    version,
    type: isShorthand(task)
      ? onRequest
      : (extensionType.read(attributes["type"]) ?? "definedFlows"),
    scope: extensionScope.read(attributes["scope"]) ?? "everywhere",
    task: task === undefined ? undefined : normaliseTask(task, 1, { domain }),
  };
}
