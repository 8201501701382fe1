/** A checker with the schemas of this package, and definitions to change one thing in. */
import { readdirSync, readFileSync } from "node:fs";
import {
  createDefinitionChecker,
  type DefinitionChecker,
} from "../../src/engine/definition/check-component.ts";

const folder = new URL("../../schemas/", import.meta.url);

export const componentSchemas: Readonly<Record<string, object>> = Object.fromEntries(
  readdirSync(folder).map((file) => [
    file,
    JSON.parse(readFileSync(new URL(file, folder), "utf8")) as object,
  ]),
);

export const definitionChecker = (): DefinitionChecker => createDefinitionChecker(componentSchemas);

/** `undefined` removes the member. */
export type Changes = Readonly<Record<string, unknown>>;

/** A copy with the given members set: `{ "attributes.states[0].key": "x" }`. */
export function changed<Definition extends object>(base: Definition, changes: Changes): Definition {
  const copy = structuredClone(base);
  for (const [path, value] of Object.entries(changes)) setAt(copy, path, value);
  return copy;
}

function setAt(root: object, path: string, value: unknown): void {
  const steps = path.match(/[^.[\]]+/g) ?? [];
  const last = steps.pop() ?? "";
  let reached = root as Record<string, unknown>;
  for (const step of steps) {
    reached[step] ??= {};
    reached = reached[step] as Record<string, unknown>;
  }
  if (value === undefined) delete reached[last];
  else reached[last] = value;
}

export const base64 = (text: string): string => Buffer.from(text, "utf8").toString("base64");

export const script = (code = "return true;") => ({ code: base64(code), encoding: "B64" });
export const refTo = (flow: string, key: string) => ({ key, domain: "hr", flow, version: "1.0.0" });
export const labels = (label: string) => [{ label, language: "en" }];

/** The envelope around the attributes of any kind. */
export const component = (flow: string, attributes: object) => ({
  key: "leave-request",
  flow,
  flowVersion: "1.0.0",
  domain: "hr",
  version: "1.0.0",
  tags: ["hr"],
  attributes,
});

const transition = (key: string, target: string, more: object = {}) => ({
  key,
  target,
  triggerType: 0,
  versionStrategy: "Minor",
  labels: labels(key),
  ...more,
});

const state = (key: string, stateType: number, more: object = {}) => ({
  key,
  stateType,
  versionStrategy: "Minor",
  labels: labels(key),
  ...more,
});

/** A workflow that uses every part of the model, without a mistake or a warning. */
export const fullWorkflow = () =>
  component("sys-flows", {
    type: "F",
    labels: labels("Leave request"),
    startTransition: transition("start", "draft", {
      schema: refTo("sys-schemas", "leave"),
      mapping: script(),
    }),
    sharedTransitions: [
      transition("comment", "$self", {
        availableIn: ["draft", { state: "check", roles: [{ role: "hr.lead", grant: "allow" }] }],
        annotations: { "ui/priority": "1" },
      }),
    ],
    cancel: transition("cancel-request", "cancelled", { availableIn: ["all"] }),
    exit: transition("leave", "cancelled"),
    updateData: transition("update", "$self"),
    timeout: {
      key: "too-late",
      target: "cancelled",
      versionStrategy: "Patch",
      timer: { reset: "N", duration: "P30D" },
      mapping: script(),
    },
    errorBoundary: {
      onError: [
        { action: 1, errorCodes: ["503"], retryPolicy: { initialDelay: "PT1S", maxDelay: "PT1M" } },
        { action: "notify", transition: "comment" },
      ],
    },
    functions: [refTo("sys-functions", "days-left")],
    extensions: [refTo("sys-extensions", "person")],
    features: [],
    schema: { schema: refTo("sys-schemas", "leave") },
    queryRoles: [{ role: "$user.$.context.Instance.Data.ownerId", grant: "Allow" }],
    output: script(),
    scripts: { helpers: [refTo("sys-mappings", "dates")] },
    states: [
      state("draft", 1, {
        view: { view: refTo("sys-views", "form"), loadData: true },
        onExits: [{ order: 1, task: refTo("sys-tasks", "note"), mapping: { type: "G" } }],
        transitions: [
          transition("submit", "check", {
            schema: { schemas: [{ rule: script(), schema: refTo("sys-schemas", "leave") }] },
            mapping: script(),
            view: {
              rules: [{ rule: script(), view: refTo("sys-views", "form") }],
              default: { view: refTo("sys-views", "form") },
            },
            roles: [{ anyOf: [{ role: "$InstanceStarter" }], grant: "allow" }],
            onExecutionTasks: [
              { order: 1, task: refTo("sys-tasks", "note"), mapping: script() },
              { order: 1, task: refTo("sys-tasks", "count"), mapping: script() },
            ],
            resourceLock: { keyExpression: script(), action: "Acquire" },
          }),
          transition("remind", "$self", { triggerType: 2, timer: script() }),
          transition("revoke", "cancelled", { triggerType: 3, event: { mapping: script() } }),
        ],
      }),
      state("check", 2, {
        subType: 5,
        transitions: [
          transition("auto-ok", "sub", {
            triggerType: 1,
            rule: {
              location: "dynamicExpresso",
              encoding: "NAT",
              code: "context.Instance.Data.days < 3",
            },
          }),
          transition("auto-else", "ask", { triggerType: 1, triggerKind: 10 }),
        ],
        onEntries: [
          {
            order: 1,
            task: refTo("sys-tasks", "note"),
            mapping: script(),
            errorBoundary: { onError: [{ action: 3 }] },
          },
        ],
        interaction: { longPoll: { terminate: true, roles: [] } },
        notifications: [{ type: 0, mapping: { type: "G" } }],
        alias: [{ name: "busy", roles: [{ role: "x", grant: "deny" }], labels: labels("Busy") }],
      }),
      state("sub", 4, {
        subFlow: {
          type: "S",
          process: refTo("sys-flows", "approval"),
          mapping: script(),
          overrides: {
            transitions: { approve: { roles: [{ role: "boss", grant: "allow" }] } },
            states: { waiting: { queryRoles: [] } },
          },
        },
        transitions: [transition("done", "done", { triggerType: 1, triggerKind: 10 })],
      }),
      state("ask", 5, { transitions: [transition("answer", "check")] }),
      state("done", 3, { subType: "success" }),
      state("cancelled", 3, { subType: 7 }),
    ],
  });
