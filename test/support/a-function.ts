/** Functions and extensions for tests, made of a script task. */
import { aScriptTask, output, taskWith } from "./a-script-slot.ts";
import { aComponent, defaultDomain, type Component } from "./a-workflow.ts";

/** Publish it before anything below. */
export const functionTask = aScriptTask("answering");

/** A function with one task, whose output handler is written as its body. */
export const aFunction = (
  key: string,
  body: string,
  attributes: object = {},
  envelope: Partial<Component> = {},
): Component =>
  aComponent(
    "sys-functions",
    key,
    { scope: "D", task: taskWith("answering", output(body)), ...attributes },
    envelope,
  );

export const functionRef = (key: string, version = "latest") => ({
  key,
  domain: defaultDomain,
  flow: "sys-functions",
  version,
});

export const anExtension = (
  key: string,
  type: 1 | 2 | 3 | 4,
  body: string,
  attributes: object = {},
): Component =>
  aComponent("sys-extensions", key, {
    type,
    scope: 1,
    task: taskWith("answering", output(body)),
    ...attributes,
  });

export const extensionRef = (key: string) => ({
  key,
  domain: defaultDomain,
  flow: "sys-extensions",
  version: "latest",
});

export const allow = (role: string) => ({ role, grant: "allow" });
export const deny = (role: string) => ({ role, grant: "deny" });
