import { expect, test } from "vitest";
import type { Component } from "../engine/component.ts";
import { readScriptCode } from "../engine/definition/script-code.ts";
import { getInstanceDataTask } from "./get-instance-data-task.ts";
import { getInstanceTask } from "./get-instance-task.ts";
import { getInstancesTask } from "./get-instances-task.ts";
import { startTask } from "./start-task.ts";

const definition = (config: object) =>
  ({ key: "read", domain: "core", attributes: { type: "13", config } }) as unknown as Component;
const script = (code: string) => readScriptCode({ encoding: "NAT", code }, { domain: "core" });

test.each([
  ["in its own domain", { domain: "core" }, undefined, false],
  ["with a script that stays there", { domain: "core" }, "task.SetKey('a')", false],
  ["without a domain", {}, undefined, false],
  ["of another domain", { domain: "library" }, undefined, true],
  ["with a script that may go elsewhere", { domain: "core" }, "task.SetDomain(d)", true],
])("a read %s reaches outside or not", (_which, config, code, expected) => {
  const mapping = code === undefined ? undefined : script(code);

  for (const task of [getInstanceDataTask, getInstanceTask, getInstancesTask]) {
    expect(task.isEffectful(definition(config), mapping)).toBe(expected);
  }
});

test("a start always does", () => {
  expect(startTask.isEffectful(definition({ domain: "core" }), undefined)).toBe(true);
});
