import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  changed,
  type Changes,
  component,
  componentSchemas,
  definitionChecker,
  fullWorkflow,
  refTo,
  script,
} from "../../../test/support/definition-checker.ts";
import { ComponentKind, componentKinds } from "../component-kind.ts";
import { errorsByPath } from "./findings.ts";
import { normaliseWorkflow, type WorkflowComponent } from "./normalise-workflow.ts";

const checker = definitionChecker();
const check = (body: unknown) => checker.check(body, { requireFlowVersion: true });

const binding = { order: 1, task: refTo("sys-tasks", "x"), mapping: script() };
const bases: Record<ComponentKind, object> = {
  [ComponentKind.flow]: fullWorkflow(),
  [ComponentKind.task]: component("sys-tasks", { type: "7", config: {} }),
  [ComponentKind.schema]: component("sys-schemas", {
    type: "workflow",
    schema: { type: "object", properties: { days: { type: "integer" } } },
  }),
  [ComponentKind.view]: component("sys-views", { type: 1, content: { a: 1 }, display: "popup" }),
  [ComponentKind.function]: component("sys-functions", { scope: "I", task: binding }),
  [ComponentKind.extension]: component("sys-extensions", { type: 1, scope: 3, task: binding }),
  [ComponentKind.mapping]: component("sys-mappings", {
    name: "Dates",
    code: "export const a = 1;",
    encoding: "NAT",
  }),
};

test.each(componentKinds)("a right component of %s is accepted without a word", (kind) => {
  expect(check(bases[kind])).toEqual({ mistakes: [], warnings: [] });
});

describe("the envelope", () => {
  const rows: readonly (readonly [string, Changes, string, string])[] = [
    ["a key", { key: undefined }, "key", "required"],
    ["a key of its alphabet", { key: "a_b" }, "key", "letters, digits and '-'"],
    ["a key of 100 characters", { key: "x".repeat(101) }, "key", "at most 100"],
    ["a key that is not empty", { key: "" }, "key", "letters"],
    ["a key that is text", { key: 5 }, "key", "a string"],
    ["a flow", { flow: undefined }, "flow", "required"],
    ["a flow of its alphabet", { flow: "sys flows" }, "flow", "letters, digits"],
    ["a flow that is a kind", { flow: "sys-things" }, "flow", "sys-flows, sys-tasks"],
    ["a domain", { domain: undefined }, "domain", "required"],
    ["a domain of its alphabet", { domain: "hr2" }, "domain", "letters and '-'"],
    ["a domain of 50 characters", { domain: "x".repeat(51) }, "domain", "at most 50"],
    ["a version", { version: undefined }, "version", "required"],
    ["a semantic version", { version: "1.0" }, "version", "semantic version"],
    [
      "a version of 180 characters",
      { version: `1.0.0-${"a".repeat(180)}` },
      "version",
      "at most 180",
    ],
    ["a flow version", { flowVersion: undefined }, "flowVersion", "required"],
    ["a semantic flow version", { flowVersion: "v1" }, "flowVersion", "semantic version"],
    ["attributes", { attributes: undefined }, "attributes", "required"],
    ["attributes that are an object", { attributes: [] }, "attributes", "an object"],
    ["tags that are a list", { tags: "x" }, "tags", "a list"],
    ["tags that are texts", { tags: ["a", 1] }, "tags[1]", "a string"],
    ["data that is a list", { data: {} }, "data", "a list"],
    ["a key in data", { data: [{ version: "1.0.0", attributes: {} }] }, "data[0].key", "required"],
    [
      "a right key in data",
      { data: [{ key: "a b", version: "1.0.0", attributes: {} }] },
      "data[0].key",
      "letters",
    ],
    [
      "a version in data",
      { data: [{ key: "a", version: "1", attributes: {} }] },
      "data[0].version",
      "semantic version",
    ],
    [
      "attributes in data",
      { data: [{ key: "a", version: "1.0.0" }] },
      "data[0].attributes",
      "required",
    ],
    [
      "tags in data that are texts",
      { data: [{ key: "a", version: "1.0.0", tags: [1], attributes: {} }] },
      "data[0].tags[0]",
      "a string",
    ],
  ];

  test.each(rows)("needs %s", (_, changes, path, says) => {
    const { mistakes } = check(changed(bases["sys-tasks"], changes));

    expect(errorsByPath(mistakes)).toHaveProperty([path], [expect.stringContaining(says)]);
  });

  test.each(["1.0.0", "1.0.0-pkg.2.1.0+hr", "1.0.0-alpha.1-pkg.1.17.0+account"])(
    "takes the version %s",
    (version) => {
      expect(check(changed(bases["sys-tasks"], { version })).mistakes).toEqual([]);
    },
  );

  test("a missing flowVersion is only a warning where the caller says so", () => {
    const body = changed(bases["sys-tasks"], { flowVersion: undefined });

    expect(checker.check(body, { requireFlowVersion: false })).toEqual({
      mistakes: [],
      warnings: [{ path: "flowVersion", message: expect.stringContaining("the version") }],
    });
  });

  test.each([null, [], "text", 5, true])("a body that is %j is refused", (body) => {
    expect(check(body).mistakes).toEqual([
      { path: "", message: expect.stringContaining("must be an object") },
    ]);
  });
});

type Row = readonly [string, ComponentKind, Changes, string, string];
const task = (type: unknown, config?: unknown): Changes => ({
  "attributes.type": type,
  "attributes.config": config,
});
const soap = (more: object) => task("16", { url: "https://x", soapAction: "a", ...more });
const store = (more: object) => task("17", { command: "get", key: "k", ...more });
const config = "attributes.config";

const refused: readonly Row[] = [
  ["a task without type", "sys-tasks", task(undefined, {}), "attributes.type", "required"],
  ["an unknown task type", "sys-tasks", task("99", {}), "attributes.type", "17 (stateStore)"],
  ["a task without config", "sys-tasks", task("6"), config, "beside 'type'"],
  ["a config that is no object", "sys-tasks", task("6", "x"), config, "an object"],
  [
    "a config at the root",
    "sys-tasks",
    { ...task("6"), config: { url: "x" } },
    "config",
    "move it to attributes.config",
  ],
  [
    "a channel that is no text",
    "sys-tasks",
    task("10", { channels: [1] }),
    `${config}.channels[0]`,
    "a string",
  ],
  [
    "a state channel flag that is text",
    "sys-tasks",
    task(10, { channels: ["sms"], includeStateChannel: "yes" }),
    `${config}.includeStateChannel`,
    "true or false",
  ],
  [
    "a SOAP task without url",
    "sys-tasks",
    task("16", { soapAction: "a" }),
    `${config}.url`,
    "required",
  ],
  [
    "a SOAP task without action",
    "sys-tasks",
    task("16", { url: "x" }),
    `${config}.soapAction`,
    "required",
  ],
  [
    "another SOAP version",
    "sys-tasks",
    soap({ soapVersion: "2.0" }),
    `${config}.soapVersion`,
    "'1.1' and '1.2'",
  ],
  ["a SOAP body that is no text", "sys-tasks", soap({ body: {} }), `${config}.body`, "a string"],
  [
    "SOAP headers that are no texts",
    "sys-tasks",
    soap({ headers: { a: 1 } }),
    `${config}.headers.a`,
    "a string",
  ],
  [
    "a SOAP timeout of nothing",
    "sys-tasks",
    soap({ timeoutSeconds: 0 }),
    `${config}.timeoutSeconds`,
    "1 or more",
  ],
  [
    "a SOAP timeout of a fraction",
    "sys-tasks",
    soap({ timeoutSeconds: 1.5 }),
    `${config}.timeoutSeconds`,
    "a whole number",
  ],
  [
    "a SOAP validateSsl that is text",
    "sys-tasks",
    soap({ validateSsl: "no" }),
    `${config}.validateSsl`,
    "true or false",
  ],
  [
    "a status that is no status",
    "sys-tasks",
    soap({ acceptedStatusCodes: ["500", "50"] }),
    `${config}.acceptedStatusCodes[1]`,
    "5xx",
  ],
  [
    "a status that is a number",
    "sys-tasks",
    soap({ acceptedStatusCodes: [500] }),
    `${config}.acceptedStatusCodes[0]`,
    "a string",
  ],
  ["a state store without command", "sys-tasks", task("17", {}), `${config}.command`, "required"],
  [
    "an unknown command",
    "sys-tasks",
    store({ command: "drop" }),
    `${config}.command`,
    "get, set, delete",
  ],
  [
    "a life of nothing",
    "sys-tasks",
    store({ ttlInSeconds: 0 }),
    `${config}.ttlInSeconds`,
    "1 or more",
  ],
  [
    "another consistency",
    "sys-tasks",
    store({ consistency: "Weak" }),
    `${config}.consistency`,
    "Eventual, Strong",
  ],
  [
    "another concurrency",
    "sys-tasks",
    store({ concurrency: "Mine" }),
    `${config}.concurrency`,
    "FirstWrite, LastWrite",
  ],
  [
    "a delete by key and query",
    "sys-tasks",
    store({ command: "delete", query: {} }),
    config,
    "exactly one",
  ],
  [
    "a query that is no object",
    "sys-tasks",
    store({ command: "delete", query: "x" }),
    `${config}.query`,
    "an object",
  ],
  [
    "a binding without a name",
    "sys-tasks",
    task("2", { operation: "create" }),
    `${config}.bindingName`,
    "required",
  ],
  [
    "an HTTP method that is none",
    "sys-tasks",
    task("6", { url: "x", method: "FETCH" }),
    `${config}.method`,
    "GET",
  ],
  [
    "a cache without a source",
    "sys-tasks",
    task("18", { key: "k" }),
    `${config}.sourceTask`,
    "required",
  ],
  [
    "a cache whose source is no task",
    "sys-tasks",
    task("18", { key: "k", sourceTask: refTo("sys-views", "x") }),
    `${config}.sourceTask.flow`,
    "sys-tasks",
  ],
  [
    "a conversation without component",
    "sys-tasks",
    task("20", {}),
    `${config}.componentName`,
    "required",
  ],
  [
    "a fan-out without task",
    "sys-tasks",
    task("21", { itemsPath: "$.a" }),
    `${config}.task`,
    "required",
  ],
  [
    "a fan-out path that is none",
    "sys-tasks",
    task("21", { itemsPath: "a.b", task: refTo("sys-tasks", "x") }),
    `${config}.itemsPath`,
    "$.orders",
  ],
  [
    "a quorum of nobody knows",
    "sys-tasks",
    task("21", { itemsPath: "$.a", task: refTo("sys-tasks", "x"), join: { policy: "quorum" } }),
    `${config}.join.minSuccess`,
    "minSuccess",
  ],

  [
    "a view without type",
    "sys-views",
    { "attributes.type": undefined },
    "attributes.type",
    "required",
  ],
  ["an unknown view type", "sys-views", { "attributes.type": 7 }, "attributes.type", "6 (urn)"],
  [
    "a view without content",
    "sys-views",
    { "attributes.content": undefined },
    "attributes.content",
    "required",
  ],
  [
    "a view with empty content",
    "sys-views",
    { "attributes.content": " " },
    "attributes.content",
    "empty",
  ],
  [
    "HTML that is no text",
    "sys-views",
    { "attributes.type": "html" },
    "attributes.content",
    "is text",
  ],
  [
    "an unknown renderer",
    "sys-views",
    { "attributes.renderer": "svelte" },
    "attributes.renderer",
    "pseudo-ui",
  ],
  ["a blank display", "sys-views", { "attributes.display": "  " }, "attributes.display", "blank"],
  [
    "a display for no mode",
    "sys-views",
    { "attributes.display": {} },
    "attributes.display",
    "not be empty",
  ],
  [
    "an override that is empty",
    "sys-views",
    { "attributes.platformOverrides": { web: { content: "" } } },
    "attributes.platformOverrides.web.content",
    "empty",
  ],

  [
    "a function without scope",
    "sys-functions",
    { "attributes.scope": undefined },
    "attributes.scope",
    "required",
  ],
  [
    "an unknown scope",
    "sys-functions",
    { "attributes.scope": "X" },
    "attributes.scope",
    "D (domain)",
  ],
  [
    "a function without tasks",
    "sys-functions",
    { "attributes.task": undefined },
    "attributes.task",
    "onExecutionTasks",
  ],
  [
    "a function whose task is none",
    "sys-functions",
    { "attributes.task.task.flow": "sys-views" },
    "attributes.task.task.flow",
    "sys-tasks",
  ],
  [
    "an unknown verb",
    "sys-functions",
    { "attributes.verbs": ["GET", "PUT"] },
    "attributes.verbs[1]",
    "PATCH",
  ],
  [
    "a verb twice",
    "sys-functions",
    { "attributes.verbs": ["GET", "get"] },
    "attributes.verbs[1]",
    "twice",
  ],
  [
    "an input schema for GET only",
    "sys-functions",
    { "attributes.verbs": ["GET"], "attributes.inputSchema": refTo("sys-schemas", "x") },
    "attributes.inputSchema",
    "GET only",
  ],
  [
    "a raw response that is text",
    "sys-functions",
    { "attributes.rawResponse": "true" },
    "attributes.rawResponse",
    "true or false",
  ],
  [
    "a slot of another kind",
    "sys-functions",
    { "attributes.inputSchema": refTo("sys-views", "x") },
    "attributes.inputSchema.flow",
    "sys-schemas",
  ],
  [
    "a fallback that is not last",
    "sys-functions",
    {
      "attributes.outputView": [
        { view: refTo("sys-views", "a") },
        { rule: script(), view: refTo("sys-views", "b") },
      ],
    },
    "attributes.outputView[0]",
    "move it to the end",
  ],
  [
    "extensions in a slot",
    "sys-functions",
    { "attributes.outputView": { views: [{ view: refTo("sys-views", "a"), extensions: ["x"] }] } },
    "attributes.outputView.views[0].extensions",
    "load no extensions",
  ],
  [
    "two tasks of one variable name",
    "sys-functions",
    {
      "attributes.task": undefined,
      "attributes.output": script(),
      "attributes.onExecutionTasks": [
        { ...binding, task: refTo("sys-tasks", "user-info") },
        { ...binding, task: refTo("sys-tasks", "user_info") },
      ],
    },
    "attributes.onExecutionTasks[1].task.key",
    "'userInfo'",
  ],
  [
    "a cache without key",
    "sys-functions",
    { "attributes.cache": {} },
    "attributes.cache.keyExpression",
    "needs a key",
  ],
  [
    "a cache key that does not decode",
    "sys-functions",
    { "attributes.cache": { keyExpression: { code: "%" } } },
    "attributes.cache.keyExpression.code",
    "not base64",
  ],
  [
    "a function's roles",
    "sys-functions",
    { "attributes.roles": [{ role: "$user.x", grant: "allow" }] },
    "attributes.roles[0].role",
    "$.context.",
  ],

  [
    "an extension without type",
    "sys-extensions",
    { "attributes.type": undefined },
    "attributes.type",
    "required",
  ],
  [
    "an unknown extension type",
    "sys-extensions",
    { "attributes.type": 5 },
    "attributes.type",
    "3 (definedFlows)",
  ],
  [
    "an unknown extension scope",
    "sys-extensions",
    { "attributes.scope": 4 },
    "attributes.scope",
    "3 (everywhere)",
  ],
  [
    "an extension without task",
    "sys-extensions",
    { "attributes.task": undefined },
    "attributes.task",
    "required",
  ],
  [
    "an extension's short reference",
    "sys-extensions",
    { "attributes.task.task": { ref: "Tasks/x.json" } },
    "attributes.task.task",
    "authoring only",
  ],

  [
    "a mapping without name",
    "sys-mappings",
    { "attributes.name": undefined },
    "attributes.name",
    "required",
  ],
  [
    "a mapping without code",
    "sys-mappings",
    { "attributes.code": "" },
    "attributes.code",
    "no code",
  ],
  [
    "a mapping by reference",
    "sys-mappings",
    { "attributes.encoding": "REF" },
    "attributes.encoding",
    "B64 (base64), NAT (native)",
  ],
  [
    "a mapping that does not decode",
    "sys-mappings",
    { "attributes.encoding": "B64", "attributes.code": "%%" },
    "attributes.code",
    "not base64",
  ],

  [
    "a schema component without schema",
    "sys-schemas",
    { "attributes.schema": undefined },
    "attributes.schema",
    "required",
  ],
  [
    "a schema that is text",
    "sys-schemas",
    { "attributes.schema": "{}" },
    "attributes.schema",
    "an object",
  ],
  [
    "a type that is none",
    "sys-schemas",
    { "attributes.schema.properties.days.type": "strng" },
    "attributes.schema.properties.days.type",
    "integer",
  ],
  [
    "a pattern that is none",
    "sys-schemas",
    { "attributes.schema.properties.days.pattern": "(" },
    "attributes.schema.properties.days.pattern",
    "not a regular expression",
  ],
  [
    "a reference to nowhere",
    "sys-schemas",
    { "attributes.schema.properties.days": { $ref: "#/$defs/x" } },
    "attributes.schema.properties.days.$ref",
    "no schema",
  ],
  [
    "x-roles that are wrong",
    "sys-schemas",
    { "attributes.schema.properties.days.x-roles": [{ role: "$user.x", grant: "allow" }] },
    "attributes.schema.properties.days.x-roles[0].role",
    "$.context.",
  ],
];

test.each(refused)("refused: %s", (_, kind, changes, path, says) => {
  const { mistakes } = check(changed(bases[kind], changes));

  expect(errorsByPath(mistakes)).toHaveProperty([path], [expect.stringContaining(says)]);
});

const warned: readonly Row[] = [
  [
    "a notification without channels, as older packages have it",
    "sys-tasks",
    task("10", { metadata: { method: "post" } }),
    `${config}.channels`,
    "only the state channel",
  ],
  [
    "a notification that sends nothing",
    "sys-tasks",
    task("10", { channels: [], includeStateChannel: false }),
    `${config}.channels`,
    "sends nothing",
  ],
  [
    "a SOAP task whose mapping sets the url",
    "sys-tasks",
    soap({ url: "" }),
    `${config}.url`,
    "unless its mapping sets it",
  ],
  [
    "a Dapr service whose mapping sets the application",
    "sys-tasks",
    task("3", { appId: "", methodName: "m" }),
    `${config}.appId`,
    "unless its mapping sets it",
  ],
  [
    "a state store task with every member there and blank",
    "sys-tasks",
    store({ key: "", keys: [], query: "", value: "", etag: "", concurrency: "", consistency: "" }),
    `${config}.key`,
    "unless its mapping sets it",
  ],
  [
    "no keys to delete",
    "sys-tasks",
    store({ command: "delete", key: "", keys: [] }),
    `${config}.key`,
    "unless its mapping sets it",
  ],
  [
    "a page beyond what a task may ask",
    "sys-tasks",
    task("15", { domain: "hr", flow: "f", pageSize: 1001 }),
    `${config}.pageSize`,
    "above 1000",
  ],
  [
    "a page of nothing",
    "sys-tasks",
    task("15", { domain: "hr", flow: "f", page: 0 }),
    `${config}.page`,
    "the default is used",
  ],
  [
    "a fan-out with an error boundary for its items",
    "sys-tasks",
    task("21", {
      itemsPath: "$.a",
      task: refTo("sys-tasks", "x"),
      errorBoundary: { onError: [{ action: "ignore" }] },
    }),
    `${config}.errorBoundary`,
    "no effect",
  ],
  [
    "an HTTP task without url",
    "sys-tasks",
    task("6", {}),
    `${config}.url`,
    "unless its mapping sets it",
  ],
  [
    "a start trigger without flow",
    "sys-tasks",
    task("11", { domain: "hr" }),
    `${config}.flow`,
    "unless its mapping",
  ],
  [
    "a get without key",
    "sys-tasks",
    task("17", { command: "get" }),
    `${config}.key`,
    "unless its mapping",
  ],
  [
    "a set without value",
    "sys-tasks",
    store({ command: "SET" }),
    `${config}.value`,
    "unless its mapping",
  ],
  [
    "a delete of nothing",
    "sys-tasks",
    task("17", { command: "delete" }),
    `${config}.key`,
    "unless its mapping",
  ],
  ["a script task without config", "sys-tasks", task(7), config, "default is {}"],
  ["a human task", "sys-tasks", task("5", {}), "attributes.type", "Pending"],
  ["a condition task", "sys-tasks", task("8", {}), "attributes.type", "cannot run"],
  ["a timer task", "sys-tasks", task("9", {}), "attributes.type", "cannot run"],
  ["a python task", "sys-tasks", task("23", {}), "attributes.type", "cannot run"],
  [
    "a channel twice",
    "sys-tasks",
    task("10", { channels: ["sms", "sms"] }),
    `${config}.channels[1]`,
    "twice",
  ],
  [
    "a renderer of another type",
    "sys-views",
    { "attributes.type": 2, "attributes.content": "<p>", "attributes.renderer": "vue" },
    "attributes.renderer",
    "type 1 (json)",
  ],
  [
    "an unknown display",
    "sys-views",
    { "attributes.display": "hologram" },
    "attributes.display",
    "as it is",
  ],
  [
    "JSON content that is no JSON",
    "sys-views",
    { "attributes.content": "{" },
    "attributes.content",
    "not JSON",
  ],
  [
    "several tasks without output",
    "sys-functions",
    { "attributes.task": undefined, "attributes.onExecutionTasks": [binding] },
    "attributes.output",
    "variable name",
  ],
  [
    "a task beside several",
    "sys-functions",
    { "attributes.output": script(), "attributes.onExecutionTasks": [binding] },
    "attributes.task",
    "not run",
  ],
  [
    "a schema without type",
    "sys-schemas",
    { "attributes.type": undefined },
    "attributes.type",
    "missing",
  ],
  [
    "a schema that refers elsewhere",
    "sys-schemas",
    { "attributes.schema.properties.days": { $ref: "https://example.com/a.json#/x" } },
    "attributes.schema.properties.days.$ref",
    "not fetched",
  ],
  [
    "an index outside a master schema",
    "sys-schemas",
    { "attributes.schema.properties.days.x-indexed": true },
    "attributes.schema.properties.days.x-indexed",
    "master",
  ],
  [
    "a mapping without encoding",
    "sys-mappings",
    { "attributes.encoding": undefined, "attributes.code": "YWJj" },
    "attributes.encoding",
    "B64",
  ],
];

test.each(warned)("accepted with a warning: %s", (_, kind, changes, path, says) => {
  const { mistakes, warnings } = check(changed(bases[kind], changes));

  expect(mistakes).toEqual([]);
  expect(errorsByPath(warnings)).toHaveProperty([path], [expect.stringContaining(says)]);
});

const silent: readonly (readonly [string, ComponentKind, Changes])[] = [
  [
    "a full notification",
    "sys-tasks",
    task("10", { channels: ["sms", "state"], includeStateChannel: true }),
  ],
  ["only the state channel", "sys-tasks", task("10", { channels: [], includeStateChannel: true })],
  ["the state channel by default", "sys-tasks", task("10", { channels: [] })],
  [
    "a page larger than the API has",
    "sys-tasks",
    task("15", { domain: "hr", flow: "f", page: 1, pageSize: 500, sort: "-CreatedAt" }),
  ],
  [
    "a full SOAP task by name",
    "sys-tasks",
    {
      ...soap({
        soapVersion: "1.2",
        body: "<x/>",
        headers: { a: "b" },
        timeoutSeconds: 5,
        validateSsl: false,
        acceptedStatusCodes: ["500", "5xx", "50x"],
      }),
      "attributes.type": "SoapTask",
    },
  ],
  [
    "a full state store task",
    "sys-tasks",
    store({
      command: "set",
      value: null,
      ttlInSeconds: 60,
      consistency: "Strong",
      concurrency: "FirstWrite",
      storeName: "s",
      etag: "1",
    }),
  ],
  ["a bulk delete", "sys-tasks", task("17", { command: "delete", keys: ["a"] })],
  ["an HTTP task", "sys-tasks", task("6", { url: "https://x", method: "post", body: { a: 1 } })],
  [
    "a view for two modes",
    "sys-views",
    { "attributes.display": { sdi: "popup", mdi: "drawer" }, "attributes.renderer": "Pseudo-UI" },
  ],
  [
    "a link",
    "sys-views",
    { "attributes.type": "DeepLink", "attributes.content": { href: "app://x" } },
  ],
  [
    "a function with every slot form",
    "sys-functions",
    {
      "attributes.inputSchema": refTo("sys-schemas", "a"),
      "attributes.outputSchema": [{ schema: refTo("sys-schemas", "a") }],
      "attributes.inputView": { views: [{ rule: script(), view: refTo("sys-views", "a") }] },
      "attributes.verbs": ["GET", "POST"],
      "attributes.rawResponse": true,
    },
  ],
  [
    "a schema of draft-07",
    "sys-schemas",
    {
      "attributes.schema.$schema": "https://json-schema.org/draft-07/schema#",
      "attributes.schema.x-labels": { en: "x" },
    },
  ],
  ["a schema of any type", "sys-schemas", { "attributes.type": "master" }],
];

test.each(silent)("accepted without a word: %s", (_, kind, changes) => {
  expect(check(changed(bases[kind], changes))).toEqual({ mistakes: [], warnings: [] });
});

describe("system flows", () => {
  const sysTasks = {
    ...fullWorkflow(),
    key: "sys-tasks",
    data: [
      { key: "note", version: "1.0.0", tags: [], attributes: { type: "7", config: {} } },
      { key: "note", version: "1.0.0", tags: [], attributes: { type: "7", config: {} } },
    ],
  };

  test("short references are only warned about", () => {
    const body = changed(sysTasks, {
      "attributes.states[0].onExits[0].task": { ref: "Tasks/invalidate-cache.json" },
    });

    expect(check(body)).toEqual({
      mistakes: [],
      warnings: [expect.objectContaining({ path: "attributes.states[0].onExits[0].task" })],
    });
  });

  test("seed records are checked as components of the flow's kind", () => {
    const body = changed(sysTasks, { "data[1].attributes.type": "99" });

    expect(check(body).mistakes).toEqual([
      { path: "data[1].attributes.type", message: expect.stringContaining("must be one of") },
    ]);
  });

  test("a seed record can be checked alone", () => {
    const seed = { key: "x", version: "1", attributes: { type: "16", config: {} } };

    const { mistakes } = checker.checkSeed("sys-tasks", seed, "hr");

    expect(mistakes.map(({ path }) => path)).toEqual([
      "version",
      "attributes.config.url",
      "attributes.config.soapAction",
    ]);
  });

  test("the data of any other workflow is not taken for components", () => {
    const body = { ...sysTasks, key: "leave-request" };

    expect(check(changed(body, { "data[1].attributes.type": "99" })).mistakes).toEqual([]);
  });
});

/** Every way into the value, so that a change can hit any member. */
function ways(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  const inner = Object.entries(value).flatMap(([key, item]) => ways(item, [...path, key]));
  return path.length === 0 ? inner : [path, ...inner];
}

function put(root: object, way: readonly string[], value: unknown): void {
  let reached: unknown = root;
  for (const step of way.slice(0, -1)) {
    if (typeof reached !== "object" || reached === null) return;
    reached = (reached as Record<string, unknown>)[step];
  }
  if (typeof reached !== "object" || reached === null) return;
  (reached as Record<string, unknown>)[way.at(-1) ?? ""] = value;
}

describe("whatever the body is", () => {
  const json = fc.jsonValue({ maxDepth: 4 });

  test("random JSON is answered, never thrown at", () => {
    fc.assert(
      fc.property(json, fc.constantFrom(...componentKinds), (attributes, kind) => {
        check(attributes);
        check({ ...component(kind, {}), attributes });
        check({ ...component("sys-flows", {}), key: kind, data: [{ attributes }, attributes] });
      }),
      { numRuns: 150 },
    );
  });

  test.each(componentKinds)("a %s with random changes is answered, never thrown at", (kind) => {
    const base = bases[kind];
    const anyWay = fc.constantFrom(...ways(base));
    fc.assert(
      fc.property(fc.array(fc.tuple(anyWay, json), { minLength: 1, maxLength: 4 }), (changes) => {
        const body = structuredClone(base);
        for (const [way, value] of changes) put(body, way, value);
        const { mistakes, warnings } = check(body);
        for (const { message } of [...mistakes, ...warnings]) expect(message).toMatch(/\S/);
        // What is accepted can be read by the engine.
        if (kind === ComponentKind.flow && mistakes.length === 0) {
          expect(normaliseWorkflow(body as WorkflowComponent).states.size).toBeGreaterThan(0);
        }
      }),
      { numRuns: 150 },
    );
  });

  test("a body full of mistakes is answered with a list a person can bear", () => {
    // Gathering all of them would take minutes.
    const labels = Array.from({ length: 200_000 }, () => 1);

    const { mistakes } = check(changed(fullWorkflow(), { "attributes.labels": labels }));

    expect(mistakes).toHaveLength(501);
    expect(mistakes.at(-1)?.message).toMatch(/^At least \d+ more/);
  });
});

test("every schema is handed out under its own id, with a title", () => {
  for (const [file, schema] of Object.entries(componentSchemas)) {
    expect(schema).toMatchObject({ $id: `/schemas/${file}`, title: expect.any(String) });
  }
  expect(Object.keys(componentSchemas)).toEqual(
    expect.arrayContaining(componentKinds.map((kind) => `${kind}.json`)),
  );
});
