/** From a published extension to what is run when an instance is read. */
import type { Component } from "../component.ts";
import {
  extensionScope,
  extensionType,
  type ExtensionScope,
  type ExtensionType,
} from "./enumerations.ts";
import { asObject } from "./json.ts";
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
    type: extensionType.read(attributes["type"]) ?? "definedFlows",
    scope: extensionScope.read(attributes["scope"]) ?? "everywhere",
    task: task === undefined ? undefined : normaliseTask(task, 1, { domain }),
  };
}
