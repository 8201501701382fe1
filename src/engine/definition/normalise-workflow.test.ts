import { expect, test } from "vitest";
import { component, fullWorkflow, refTo } from "../../../test/support/definition-checker.ts";
import { normaliseWorkflow, type WorkflowComponent } from "./normalise-workflow.ts";

const full = normaliseWorkflow(fullWorkflow() as unknown as WorkflowComponent);
const sparse = normaliseWorkflow(
  component("sys-flows", {
    type: "flow",
    schema: { schema: { key: "leave" } },
    startTransition: { key: "start", target: "open" },
    errorBoundary: {
      onError: [
        { action: 0 },
        { action: 1, errorCodes: [503], retryPolicy: {} },
        { action: "Ignore", priority: 5 },
      ],
    },
    states: [
      {
        key: "open",
        stateType: "1",
        transitions: [
          {
            key: "close",
            target: "closed",
            onExecutionTasks: [
              { order: 2, task: { key: "b" } },
              { order: 1, task: { key: "a" } },
              { task: { ref: "Tasks/last.json" } },
              { order: 1, task: { id: "c" } },
            ],
          },
        ],
      },
      { key: "closed", stateType: 3 },
    ],
  }) as unknown as WorkflowComponent,
);

test("enumerations become words", () => {
  expect([...full.states.values()].map(({ key, type, subType }) => [key, type, subType])).toEqual([
    ["draft", "initial", "none"],
    ["check", "intermediate", "busy"],
    ["sub", "subFlow", "none"],
    ["ask", "wizard", "none"],
    ["done", "finish", "success"],
    ["cancelled", "finish", "cancelled"],
  ]);
  expect(full.states.get("check")?.transitions).toMatchObject([
    { key: "auto-ok", triggerType: "automatic", triggerKind: "none", versionStrategy: "minor" },
    { key: "auto-else", triggerType: "automatic", triggerKind: "default" },
  ]);
});

test("what is left out gets its default", () => {
  expect(sparse).toMatchObject({
    key: "leave-request",
    type: "flow",
    initialState: "open",
    labels: [{ label: "leave-request", language: undefined }],
    schema: { key: "leave", domain: "hr", flow: "sys-schemas", version: "latest" },
    cancel: undefined,
    sharedTransitions: [],
    queryRoles: [],
  });
  expect(sparse.states.get("open")?.transitions[0]).toMatchObject({
    triggerType: "manual",
    versionStrategy: "patch",
    labels: [{ label: "close" }],
    availableIn: "all",
    annotations: {},
    schema: [],
    view: [],
  });
});

test("tasks of one order form a group, groups are in order", () => {
  const groups = sparse.states.get("open")?.transitions[0]?.onExecutionTasks;

  expect(groups?.map(({ order, tasks }) => [order, tasks.map(({ task }) => task.key)])).toEqual([
    [1, ["a", "c"]],
    [2, ["b"]],
    [3, ["last"]],
  ]);
});

test("error rules are in the order they are asked, wildcards last", () => {
  expect(sparse.errorBoundary?.onError).toEqual([
    expect.objectContaining({ action: "ignore", priority: 5 }),
    expect.objectContaining({
      action: "retry",
      priority: 100,
      errorCodes: ["503"],
      retryPolicy: {
        initialDelayMs: 1000,
        maxRetries: 3,
        backoffType: "exponential",
        backoffMultiplier: 2,
        maxDelayMs: 300_000,
        useJitter: true,
      },
    }),
    expect.objectContaining({ action: "abort", priority: 999 }),
  ]);
});

test("scripts are decoded, and keep where they came from", () => {
  expect(full.output).toEqual({
    type: "local",
    code: "return true;",
    location: "inline",
    encoding: "base64",
    ref: undefined,
    helpers: [],
  });
  expect(full.states.get("check")?.transitions[0]?.rule).toMatchObject({
    code: "context.Instance.Data.days < 3",
    location: "dynamicExpresso",
    encoding: "native",
  });
  expect(full.helpers).toEqual([refTo("sys-mappings", "dates")]);
});

test("availableIn is every state, or states with their roles", () => {
  expect(full.cancel?.availableIn).toBe("all");
  expect(full.sharedTransitions[0]?.availableIn).toEqual([
    { state: "draft", roles: [] },
    { state: "check", roles: [{ grant: "allow", match: "any", roles: ["hr.lead"] }] },
  ]);
});

test("the forms of a view slot become one list, the fallback last", () => {
  const form = refTo("sys-views", "form");
  const [submit] = full.states.get("draft")?.transitions ?? [];

  expect(full.states.get("draft")?.view).toEqual([
    { rule: undefined, reference: form, loadData: true, extensions: [] },
  ]);
  expect(submit?.view).toMatchObject([
    { rule: { code: "return true;" }, reference: form, loadData: false },
    { rule: undefined, reference: form },
  ]);
});

test("a timeout, a subflow and their parts are typed", () => {
  expect(full.timeout).toMatchObject({ key: "too-late", durationMs: 30 * 86_400_000 });
  expect(full.states.get("sub")?.subFlow).toMatchObject({
    type: "subFlow",
    process: refTo("sys-flows", "approval"),
  });
  const overrides = full.states.get("sub")?.subFlow?.overrides;
  expect(overrides?.transitions.get("approve")?.roles).toHaveLength(1);
  expect(overrides?.states.get("waiting")).toMatchObject({ queryRoles: [], longPoll: undefined });
});
