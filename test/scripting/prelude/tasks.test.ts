import { describe, expect, test } from "vitest";
import { createTask } from "../../../src/scripting/prelude/tasks/create-task.ts";
import { configOf, type WorkflowTask } from "../../../src/scripting/prelude/tasks/workflow-task.ts";
import * as script from "../../../src/scripting/prelude/script.ts";

const { SoapTask, XmlDocument } = script;

const definition = (type: string, config: Record<string, unknown> = {}) => ({
  type,
  key: "the-task",
  domain: "d",
  version: "1.0.0",
  flow: "sys-tasks",
  config,
});

type AnyTask = Record<string, unknown> & Record<string, (...args: unknown[]) => unknown>;
const task = (type: string, config?: Record<string, unknown>) =>
  createTask(definition(type, config)) as unknown as AnyTask;
const left = (changed: AnyTask) => configOf(changed as unknown as WorkflowTask);

test.each([
  ["1", "DaprHttpEndpointTask"],
  ["2", "DaprBindingTask"],
  ["3", "DaprServiceTask"],
  ["4", "DaprPubSubTask"],
  ["5", "HumanTask"],
  ["6", "HttpTask"],
  ["7", "ScriptTask"],
  ["10", "NotificationTask"],
  ["11", "StartTask"],
  ["12", "DirectTriggerTask"],
  ["13", "GetInstanceDataTask"],
  ["14", "SubProcessTask"],
  ["15", "GetInstancesTask"],
  ["16", "SoapTask"],
  ["17", "StateStoreTask"],
  ["18", "CacheAsideTask"],
  ["19", "GetInstanceTask"],
  ["20", "DaprConversationTask"],
  ["21", "FanOutTask"],
  ["22", "ExternalHttpTask"],
  ["23", "PythonTask"],
  ["99", "WorkflowTask"],
  ["toString", "WorkflowTask"],
])("type %s is a %s", (type, name) => {
  const made = createTask(definition(type));

  expect(made.constructor.name).toBe(name);
  expect(made).toBeInstanceOf(new Map(Object.entries(script)).get(name));
  expect(made).toMatchObject({ Key: "the-task", Domain: "d", Version: "1.0.0", Type: type });
});

test("classes of sibling types are siblings", () => {
  expect(createTask(definition("22"))).toBeInstanceOf(script.HttpTask);
  expect(createTask(definition("22"))).toBeInstanceOf(script.LocalHttpTask);
  expect(createTask(definition("12"))).not.toBeInstanceOf(script.StartTask);
  expect(createTask(definition("19"))).not.toBeInstanceOf(script.GetInstanceDataTask);
  expect(createTask(definition("12"))).toBeInstanceOf(script.TriggerTransitionTask);
});

const guid = "6F9619FF-8B86-D011-B42D-00C04FC964FF";
const id = guid.toLowerCase();

/** Type, mutator, arguments, what the configuration holds then. */
test.each<[string, string, unknown[], Record<string, unknown>]>([
  ["1", "SetBody", [{ A: 1 }], { body: { A: 1 } }],
  ["1", "SetPath", ["/x"], { path: "/x" }],
  ["2", "SetData", [{ A: 1 }], { data: { A: 1 } }],
  ["3", "SetAppId", ["app"], { appId: "app" }],
  ["3", "SetMethodName", ["m"], { methodName: "m" }],
  ["3", "SetQueryString", [null], { queryString: null }],
  ["3", "SetBody", [{ Name: null }], { body: { Name: null } }],
  ["3", "SetData", [[1]], { body: [1] }],
  ["4", "SetPubSubName", ["bus"], { pubSubName: "bus" }],
  ["4", "SetTopic", ["t"], { topic: "t" }],
  ["4", "SetData", [{ x: 1 }], { data: { x: 1 } }],
  ["4", "SetMetadata", [{ a: "b" }], { metadata: { a: "b" } }],
  ["6", "SetUrl", ["http://b"], { url: "http://b" }],
  [
    "6",
    "SetBody",
    [{ CitizenshipNumber: "1", n: null, u: undefined }],
    { body: { CitizenshipNumber: "1", n: null } },
  ],
  ["6", "SetBody", [new Map([["k", new Date(0)]])], { body: { k: "1970-01-01T00:00:00.000Z" } }],
  ["6", "SetBody", [null], { body: null }],
  ["6", "SetRawBody", ["{ }"], { rawBody: "{ }" }],
  ["6", "SetContentType", ["text/plain"], { contentType: "text/plain" }],
  ["6", "SetContentType", [" "], { contentType: null }],
  ["6", "SetHeaders", [{ A: "1", B: null }], { headers: { A: "1", B: null } }],
  ["6", "SetHeaders", [null], { headers: null }],
  ["6", "AddHeader", ["A", "1"], { headers: { A: "1" } }],
  ["6", "SetTimeout", [5], { timeoutSeconds: 5 }],
  ["11", "SetDomain", ["x"], { domain: "x" }],
  ["11", "SetFlow", ["x"], { flow: "x" }],
  ["11", "SetKey", ["k"], { key: "k" }],
  ["11", "SetVersion", ["2.0.0"], { version: "2.0.0" }],
  ["11", "SetSync", [true], { sync: true }],
  ["11", "SetTags", [["a"]], { tags: ["a"] }],
  ["11", "SetBody", [{ a: 1 }], { body: { a: 1 } }],
  ["11", "SetUseDapr", [true], { useDapr: true }],
  ["11", "SetValidateSSL", [false], { validateSsl: false }],
  ["12", "SetTransitionName", ["approve"], { transitionName: "approve" }],
  ["12", "SetInstance", [guid], { instanceId: id }],
  ["12", "SetInstance", ["L-1"], { instanceId: null }],
  ["12", "SetInstance", [null], { instanceId: null }],
  ["13", "SetInstance", [`{${guid}}`], { instanceId: id }],
  ["13", "SetInstance", ["L-1"], { key: "L-1" }],
  ["13", "SetInstance", [" "], { instanceId: null }],
  ["13", "SetExtensions", [["e"]], { extensions: ["e"] }],
  ["14", "AddHeader", ["a", "b"], { headers: { a: "b" } }],
  ["15", "SetPage", [0], { page: 1 }],
  ["15", "SetPage", [3], { page: 3 }],
  ["15", "SetPageSize", [-1], { pageSize: 10 }],
  ["15", "SetSort", ["-CreatedAt"], { sort: "-CreatedAt" }],
  ["15", "SetFilter", ['{"a":1}'], { filter: '{"a":1}' }],
  ["15", "SetFilter", [["", '{"a":1}']], { filter: '{"a":1}' }],
  ["15", "SetFilter", [{ key: { eq: "k" } }], { filter: '{"key":{"eq":"k"}}' }],
  ["15", "SetFilter", [null], { filter: null }],
  ["16", "SetUrl", ["http://soap"], { url: "http://soap" }],
  ["16", "SetBody", ["<a/>"], { body: "<a/>" }],
  ["16", "SetBody", [null], { body: null }],
  ["16", "SetSoapAction", ["urn:a"], { soapAction: "urn:a" }],
  ["16", "SetSoapAction", [null], { soapAction: "" }],
  ["17", "SetCommand", ["set"], { command: "set" }],
  ["17", "SetStoreName", ["s"], { storeName: "s" }],
  ["17", "SetCacheKey", ["k"], { key: "k" }],
  ["17", "SetCacheKeys", [["a", "b"]], { keys: ["a", "b"] }],
  ["17", "SetValue", [{ A: 1 }], { value: { A: 1 } }],
  ["17", "SetValue", [null], {}],
  ["17", "SetTtlInSeconds", [60], { ttlInSeconds: 60 }],
  ["17", "SetETag", ["7"], { etag: "7" }],
  ["17", "SetConcurrency", ["FirstWrite"], { concurrency: "FirstWrite" }],
  ["17", "SetConsistency", ["Strong"], { consistency: "Strong" }],
  ["17", "SetQuery", [{ filter: { EQ: { a: 1 } } }], { query: { filter: { EQ: { a: 1 } } } }],
  ["17", "SetMetadata", [{ a: "b" }], { metadata: { a: "b" } }],
  ["18", "SetCacheKey", ["k"], { key: "k" }],
  ["18", "SetStoreName", ["s"], { storeName: "s" }],
  ["18", "SetTtlInSeconds", [null], { ttlInSeconds: null }],
  ["19", "SetKey", ["k"], { key: "k" }],
  ["20", "SetInputs", [[{ role: "user" }]], { inputs: [{ role: "user" }] }],
  ["23", "SetInput", [{ a: 1 }], { input: { a: 1 } }],
  ["23", "SetTimeoutSeconds", [null], { timeoutSeconds: 30 }],
])("%s.%s(%j)", (type, mutator, args, config) => {
  const changed = task(type);

  changed[mutator]!(...args);

  expect(left(changed)).toEqual(config);
});

/** Type, property, its default. */
test.each<[string, string, unknown]>([
  ["1", "Method", "GET"],
  ["3", "HttpVerb", "GET"],
  ["6", "Method", "GET"],
  ["6", "TimeoutSeconds", 30],
  ["6", "ValidateSSL", true],
  ["6", "AcceptedStatusCodes", null],
  ["10", "IncludeStateChannel", true],
  ["10", "Channels", []],
  ["11", "TriggerSync", false],
  ["12", "TriggerSync", true],
  ["12", "Identifier", null],
  ["14", "TriggerSync", false],
  ["15", "Page", 1],
  ["15", "PageSize", 10],
  ["16", "SoapVersion", "1.1"],
  ["16", "Body", null],
  ["18", "BypassOnCacheError", true],
  ["18", "ForceRefresh", false],
  ["21", "Mode", "inline"],
  ["21", "MaxDegreeOfParallelism", 4],
  ["21", "ItemTimeoutSeconds", 30],
  ["21", "BatchTimeoutSeconds", 120],
  ["21", "JoinPolicy", "allSettled"],
  ["21", "ResultKey", "fanOutResults"],
  ["21", "Ordered", true],
])("%s.%s is %j by default", (type, property, value) => {
  expect(task(type)[property]).toEqual(value);
});

describe("errors", () => {
  const blank =
    "The value cannot be an empty string or composed entirely of whitespace. (Parameter '%')";
  test.each<[string, string, unknown[], string, string]>([
    ["6", "SetUrl", [" "], "ArgumentNullException", "Value cannot be null. (Parameter 'url')"],
    ["16", "SetUrl", [null], "ArgumentNullException", "Value cannot be null. (Parameter 'url')"],
    ["6", "AddHeader", [" ", "x"], "ArgumentException", blank.replace("%", "key")],
    [
      "6",
      "AddHeader",
      [null, "x"],
      "ArgumentNullException",
      "Value cannot be null. (Parameter 'key')",
    ],
    ["16", "RemoveHeader", [""], "ArgumentException", blank.replace("%", "key")],
    ["11", "SetDomain", [""], "ArgumentException", blank.replace("%", "domain")],
    ["13", "SetFlow", [""], "ArgumentException", blank.replace("%", "flow")],
    ["12", "SetTransitionName", [""], "ArgumentException", blank.replace("%", "transitionName")],
    [
      "6",
      "SetHeaders",
      ["x"],
      "ArgumentException",
      "Headers must be an object, not the text 'x'. (Parameter 'headers')",
    ],
    [
      "16",
      "SetBody",
      [{}],
      "ArgumentException",
      "The body must be XML text or an XmlDocument, not an object. (Parameter 'body')",
    ],
  ])("%s.%s(%j)", (type, mutator, args, name, message) => {
    expect(() => task(type)[mutator]!(...args)).toThrow(expect.objectContaining({ name, message }));
  });
});

const soap = () =>
  createTask(
    definition("16", { url: "u", headers: { Authorization: "old", "X-Trace": "1" } }),
  ) as InstanceType<typeof SoapTask>;

describe("the SOAP task's headers", () => {
  test("SetHeaders replaces all of them", () => {
    const changed = soap();

    changed.SetHeaders({ a: "1" });

    expect(changed.Headers).toEqual({ a: "1" });
  });

  test("AddHeader adds one, or updates it whatever its case; the value may be null", () => {
    const changed = soap();

    changed.AddHeader("AUTHORIZATION", "new");
    changed.AddHeader("New", null);

    expect(changed.Headers).toEqual({ Authorization: "new", "X-Trace": "1", New: null });
  });

  test("RemoveHeader removes one, whatever its case, and minds no missing one", () => {
    const changed = soap();

    changed.RemoveHeader("x-trace");
    changed.RemoveHeader("none");
    changed.RemoveHeader("authorization");

    expect(configOf(changed)).toEqual({ url: "u", headers: null });
  });

  test("SetBody takes a document's outer XML", () => {
    const changed = soap();
    const document = new XmlDocument();
    document.LoadXml("<a><b>1</b></a>");

    changed.SetBody(document);

    expect(changed.Body).toBe("<a><b>1</b></a>");
  });
});

test("the definition's own configuration is not touched", () => {
  const config = { url: "http://a", headers: { a: "1" } };

  task("6", config)["AddHeader"]!("b", "2");

  expect(config).toEqual({ url: "http://a", headers: { a: "1" } });
});
