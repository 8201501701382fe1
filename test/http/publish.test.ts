import { describe, expect, test } from "vitest";
import { aComponent, aSchema, aWorkflow, expression, labelled } from "../support/a-workflow.ts";
import { instancesOf } from "../support/instances-of.ts";
import { publishPath, startRuntime, startRuntimeForFile } from "../support/start-runtime.ts";
import type { Answer } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();

const publish = (body: unknown) => app.post(publishPath, body);
const read = (flow: string, key: string, version = "latest") =>
  app.get(`/api/v1/core/workflows/${flow}/instances/${key}?version=${encodeURIComponent(version)}`);
const errorsOf = (answer: Answer) => (answer.body as { errors: Record<string, string[]> }).errors;

const traceparent = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const base64 = (text: string) => Buffer.from(text).toString("base64");
const script = { code: base64("export const OutputHandler = () => ({});"), encoding: "B64" };
const binding = {
  order: 1,
  task: { key: "note", domain: "core", flow: "sys-tasks", version: "1.0.0" },
  mapping: script,
};
const task = (key: string, changes: object = {}) => ({
  ...aComponent("sys-tasks", key, { type: "7", config: {} }),
  ...changes,
});

const oneOfEachKind = [
  aWorkflow("kind-flow").state("open").transition("close", { to: "closed" }).state("closed", {
    type: "finish",
  }),
  aComponent("sys-tasks", "kind-script", { type: "7", config: {} }),
  aComponent("sys-tasks", "kind-notification", {
    type: "10",
    config: { channels: ["sms", "state"], includeStateChannel: true },
  }),
  aComponent("sys-tasks", "kind-soap", {
    type: "16",
    config: { url: "https://bank.example/ws", soapAction: "urn:pay", acceptedStatusCodes: ["500"] },
  }),
  aComponent("sys-tasks", "kind-state-store", {
    type: "17",
    config: { command: "set", key: "rate", value: 1.5, ttlInSeconds: 60, consistency: "Strong" },
  }),
  aSchema("kind-schema", { type: "object", properties: { amount: { type: "number" } } }),
  aComponent("sys-views", "kind-view", {
    type: 1,
    display: "popup",
    renderer: "react-native",
    content: { title: "Hello" },
  }),
  aComponent("sys-functions", "kind-function", { scope: "I", rawResponse: true, task: binding }),
  aComponent("sys-extensions", "kind-extension", { type: 1, scope: 3, task: binding }),
  aComponent("sys-mappings", "kind-mapping", {
    name: "Dates",
    code: "let a = 1;",
    encoding: "NAT",
  }),
];

test.each(oneOfEachKind.map((c) => ("build" in c ? c.build() : c)))(
  "$flow $key is published and read back as it was sent",
  async (component) => {
    const { key, flow, domain, version } = component;

    const answer = await publish(component);
    const back = await read(flow, key);

    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(answer.body).toEqual({ key, flow, domain, version, warnings: [] });
    expect(back.body).toMatchObject({ key, flow, attributes: component.attributes });
  },
);

const long = (length: number) => "x".repeat(length);
const versionOf = (length: number) => `1.0.0-${long(length - 6)}`;

describe("the envelope", () => {
  test.each([
    ["a key of 100 characters", { key: long(100) }],
    ["a key of all its characters", { key: "aZ09-" }],
    ["a domain of 50 characters", { domain: long(50) }],
    ["a domain of all its characters", { domain: "a-Z" }],
    ["a version of 180 characters", { key: "env-long-version", version: versionOf(180) }],
    ["a package version", { key: "env-package", version: "1.0.0-pkg.2.1.0+hr" }],
    ["tags", { key: "env-tags", tags: ["a", "b c"] }],
    ["empty data", { key: "env-data", data: [] }],
    ["data that is null", { key: "env-null", data: null }],
  ])("%s is accepted", async (_, changes) => {
    expect(await publish(task("unused", changes))).toMatchObject({ status: 200 });
  });

  test.each([
    ["no key", { key: undefined }, "key"],
    ["a key that is no text", { key: 5 }, "key"],
    ["an empty key", { key: "" }, "key"],
    ["a key of 101 characters", { key: long(101) }, "key"],
    ["a key with other characters", { key: "a_b" }, "key"],
    ["no flow", { flow: undefined }, "flow"],
    ["a flow of 101 characters", { flow: long(101) }, "flow"],
    ["a flow that is no kind", { flow: "sys-things" }, "flow"],
    ["no domain", { domain: undefined }, "domain"],
    ["a domain of 51 characters", { domain: long(51) }, "domain"],
    ["a domain with digits", { domain: "core2" }, "domain"],
    ["no version", { version: undefined }, "version"],
    ["a version that is not semantic", { version: "1.0" }, "version"],
    ["a version with a v", { version: "v1.0.0" }, "version"],
    ["a version with leading zeros", { version: "1.01.0" }, "version"],
    ["a version of 181 characters", { version: versionOf(181) }, "version"],
    ["no flowVersion", { flowVersion: undefined }, "flowVersion"],
    ["a flowVersion that is not semantic", { flowVersion: "1" }, "flowVersion"],
    ["tags that are no texts", { tags: [1] }, "tags[0]"],
    ["no attributes", { attributes: undefined }, "attributes"],
    ["attributes that are no object", { attributes: [] }, "attributes"],
    ["data that is no list", { data: {} }, "data"],
    ["a seed without its members", { data: [{}] }, "data[0].key"],
    [
      "a seed with a wrong version",
      { data: [{ key: "a", version: "1", attributes: {} }] },
      "data[0].version",
    ],
  ])("%s is refused by path", async (_, changes, path) => {
    const answer = await publish(task("env-refused", changes));

    expect(answer).toMatchObject({ status: 400, body: { code: "App:900006" } });
    expect(errorsOf(answer)).toHaveProperty([path], [expect.any(String)]);
  });

  test.each([
    ["null", "null", "null"],
    ["a list", "[]", "a list of 0"],
    ["text", '"x"', "'x'"],
    ["not there", undefined, "nothing"],
  ])("a body that is %s is refused", async (_, body, shown) => {
    const answer = await publish(body);

    expect(answer).toMatchObject({ status: 400, body: { errorCode: "validation.App:900006" } });
    expect(errorsOf(answer)).toEqual({ general: [`The value must be an object; got ${shown}.`] });
  });

  test("a form is no definition", async () => {
    const answer = await app.post(publishPath, "key=a&flow=sys-tasks", {
      "content-type": "application/x-www-form-urlencoded",
    });

    expect(answer).toMatchObject({ status: 415, body: { code: "Http:415001" } });
  });

  test("without flowVersion it is the version where Publish.RequireFlowVersion is off", async () => {
    const lenient = await startRuntime({ settings: { "Publish.RequireFlowVersion": false } });
    const { flowVersion: _, ...component } = task("no-flow-version", { version: "2.3.4" });

    const answer = await lenient.post(publishPath, component);
    const back = await lenient.get("/api/v1/core/workflows/sys-tasks/instances/no-flow-version");

    expect(answer).toMatchObject({
      status: 200,
      body: { warnings: [{ path: "flowVersion", message: expect.any(String) }] },
    });
    expect(back.body).toMatchObject({ flowVersion: "2.3.4" });
  });
});

describe("mistakes", () => {
  const sixMistakes = {
    ...aWorkflow("six").build(),
    attributes: {
      type: "F",
      labels: labelled("Six"),
      startTransition: {
        key: "start",
        target: "nowhere",
        triggerType: 0,
        versionStrategy: "Patch",
        labels: labelled("Start"),
      },
      states: [
        { key: "one", stateType: 1, versionStrategy: "Patch", labels: labelled("One") },
        {
          key: "two",
          stateType: 1,
          versionStrategy: "Patch",
          labels: labelled("Two"),
          transitions: [
            {
              key: "lost",
              target: "void",
              triggerType: 0,
              versionStrategy: "Patch",
              labels: labelled("Lost"),
            },
            {
              key: "mute",
              target: "one",
              triggerType: 1,
              versionStrategy: "Patch",
              labels: labelled("Mute"),
            },
          ],
        },
        { key: "three", stateType: "sleeping", versionStrategy: "Patch", labels: labelled("3") },
      ],
      output: { type: "L", code: "not base64!", encoding: "B64" },
    },
  };

  test("six mistakes are answered with six paths, and nothing is stored", async () => {
    const answer = await publish(sixMistakes);
    const back = await read("sys-flows", "six");

    expect(answer.status).toBe(400);
    expect(answer.headers["content-type"]).toBe("application/problem+json; charset=utf-8");
    expect(answer.body).toEqual({
      type: "https://httpstatuses.com/400/validation/App/900006",
      title: "Bad Request",
      status: 400,
      detail: expect.stringContaining("6 mistakes"),
      instance: publishPath,
      errors: {
        "attributes.startTransition.target": [expect.stringContaining("nowhere")],
        "attributes.states": [expect.stringContaining("exactly one initial state")],
        "attributes.states[1].transitions[0].target": [expect.stringContaining("void")],
        "attributes.states[1].transitions[1].rule": [expect.stringContaining("'rule'")],
        "attributes.states[2].stateType": [expect.stringContaining("sleeping")],
        "attributes.output.code": [expect.stringContaining("base64")],
      },
      errorCode: "validation.App:900006",
      prefix: "validation",
      code: "App:900006",
      traceId: expect.stringMatching(traceparent),
    });
    expect(back.status).toBe(404);
  });

  test("a version that was refused can be published once it is right", async () => {
    const right = aWorkflow("twice").state("open").state("closed", { type: "finish" });
    const wrong = { ...right.build(), attributes: { type: "F" } };

    const first = await publish(wrong);
    const second = await publish(right);

    expect([first.status, second.status]).toEqual([400, 200]);
  });

  test("a task's config at the root is told where it belongs", async () => {
    const answer = await publish(
      task("config-at-root", { attributes: { type: "6" }, config: { url: "https://x.example" } }),
    );

    expect(errorsOf(answer)).toEqual({ config: [expect.stringContaining("attributes.config")] });
  });

  test.each([
    ["draft 2020-12", "https://json-schema.org/draft/2020-12/schema"],
    ["draft 07", "http://json-schema.org/draft-07/schema#"],
  ])("a JSON Schema of %s that is none is refused by path", async (_, dialect) => {
    const answer = await publish(
      aSchema("broken-schema", {
        $schema: dialect,
        type: "object",
        properties: { amount: { type: "decimal" }, name: { pattern: "(" } },
      }),
    );

    expect(answer.status).toBe(400);
    expect(Object.keys(errorsOf(answer)).toSorted()).toEqual([
      "attributes.schema.properties.amount.type",
      "attributes.schema.properties.name.pattern",
    ]);
  });

  test.each([
    ["of the wrong alphabet", "%%%"],
    ["of half a group", "YWJj YQ"],
    ["that is no UTF-8", Buffer.from([0xff, 0xfe]).toString("base64")],
  ])("base64 %s is refused by path", async (_, code) => {
    const answer = await publish(
      aWorkflow("broken-code")
        .state("open")
        .transition("go", { mapping: { code, encoding: "B64" } }),
    );

    expect(answer.status).toBe(400);
    expect(Object.keys(errorsOf(answer))).toEqual([
      "attributes.states[0].transitions[0].mapping.code",
    ]);
  });

  test("what is merely incomplete is published with a warning for each default", async () => {
    const { attributes } = aWorkflow("bare")
      .state("open")
      .state("closed", { type: 3 as never })
      .build();
    const bare = {
      ...task("bare"),
      flow: "sys-flows",
      tags: undefined,
      attributes: {
        type: "F",
        startTransition: { key: "start", target: "open" },
        states: (attributes["states"] as { key: string; stateType: unknown }[]).map(
          ({ key, stateType }) => ({ key, stateType }),
        ),
      },
    };

    const answer = await publish(bare);

    expect(answer.status).toBe(200);
    const { warnings } = answer.body as { warnings: { path: string }[] };
    expect(warnings.map(({ path }) => path)).toEqual(
      expect.arrayContaining([
        "tags",
        "attributes.labels",
        "attributes.startTransition.triggerType",
        "attributes.states[0].versionStrategy",
      ]),
    );
  });
});

describe("the same version again", () => {
  test("is a conflict with its exact code", async () => {
    await app.publish(task("again"));

    const answer = await publish(
      task("again", { attributes: { type: "6", config: { url: "x" } } }),
    );
    const back = await read("sys-tasks", "again");

    expect(answer.status).toBe(409);
    expect(answer.body).toEqual({
      type: "https://httpstatuses.com/409/conflict/Instance/100002",
      title: "Conflict",
      status: 409,
      detail: expect.stringContaining("has version 1.0.0 already"),
      instance: publishPath,
      errorCode: "conflict.Instance:100002",
      prefix: "conflict",
      code: "Instance:100002",
      traceId: expect.stringMatching(traceparent),
    });
    expect(back.body).toMatchObject({ attributes: { type: "7" } });
  });

  test("is a conflict also when the definition is wrong", async () => {
    await app.publish(task("again-wrong"));

    const answer = await publish(task("again-wrong", { attributes: {}, tags: 5 }));

    expect(answer).toMatchObject({ status: 409, body: { code: "Instance:100002" } });
  });

  test("differs by build metadata: 1.0.0+a and 1.0.0+b are two versions", async () => {
    const answers = [
      await publish(task("builds", { version: "1.0.0+a" })),
      await publish(task("builds", { version: "1.0.0+b" })),
      await publish(task("builds", { version: "1.0.0+a" })),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 409]);
  });

  test("is another component in another domain or kind", async () => {
    const inDomain = await publish(task("elsewhere", { domain: "here" }));
    const inOther = await publish(task("elsewhere", { domain: "there" }));
    const ofKind = await publish(aSchema("elsewhere", { type: "object" }, { domain: "here" }));

    expect([inDomain.status, inOther.status, ofKind.status]).toEqual([200, 200, 200]);
  });

  test("of 20 clients at once exactly one publishes", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => publish(task("race"))));

    const counted = answers.map(({ status, body }) =>
      status === 200 ? "200" : `${status} ${(body as { code: string }).code}`,
    );
    expect(counted.toSorted()).toEqual(["200", ...Array(19).fill("409 Instance:100002")]);
  });
});

const seed = (key: string, changes: object = {}) => ({
  key,
  version: "1.0.0",
  tags: ["seed"],
  attributes: { type: "7", config: {} },
  ...changes,
});
/** As the public core package has it: authoring shorthand, no domain in the seeds, one key twice. */
const storeOfTasks = (version: string, data: unknown[]) => ({
  ...aWorkflow("sys-tasks")
    .version(version)
    .state("draft", {
      onEntries: [{ order: 1, task: { ref: "Tasks/invalidate-cache.json" }, mapping: script }],
    })
    .transition("activate", { to: "active" })
    .state("active")
    .build(),
  data,
});

describe("seed records", () => {
  test("of a system flow become components of its kind", async () => {
    const answer = await publish(storeOfTasks("1.0.0", [seed("seeded"), seed("seeded-too")]));
    const back = await read("sys-tasks", "seeded");

    expect(answer).toMatchObject({ status: 200, body: { key: "sys-tasks", flow: "sys-flows" } });
    expect(back).toMatchObject({
      status: 200,
      body: { key: "seeded", flow: "sys-tasks", domain: "core", tags: ["seed"] },
    });
    expect(await read("sys-tasks", "seeded-too")).toMatchObject({ status: 200 });
  });

  test("of the public core package leave reads as they were", async () => {
    const extension = {
      type: 1,
      scope: 1,
      task: { order: 1, task: { ref: "Tasks/available-transitions.json" }, mapping: script },
    };
    await app.publish(
      {
        ...aWorkflow("sys-extensions").in("seeded").state("draft").build(),
        data: [seed("available-transitions", { attributes: extension })],
      },
      aWorkflow("plain").in("seeded").state("open").transition("go", { to: "open" }),
    );
    const flow = instancesOf(app, "plain", "seeded");

    const id = await flow.begin({});
    const answer = await flow.get(id);
    const seeded = instancesOf(app, "sys-extensions", "seeded");

    expect(answer).toMatchObject({ status: 200, body: { extensions: {} } });
    expect(await seeded.get("available-transitions")).toMatchObject({ status: 200 });
  });

  test("of one key twice are stored once, and the publish goes on", async () => {
    const answer = await publish(storeOfTasks("1.0.1", [seed("double"), seed("double")]));

    expect(answer.status).toBe(200);
    expect(await read("sys-tasks", "double")).toMatchObject({ status: 200 });
  });

  test("that exist already are skipped", async () => {
    await app.publish(task("kept", { tags: ["first"] }));

    const answer = await publish(
      storeOfTasks("1.0.2", [seed("kept", { attributes: { type: "6", config: { url: "x" } } })]),
    );

    expect(answer.status).toBe(200);
    expect((await read("sys-tasks", "kept")).body).toMatchObject({ attributes: { type: "7" } });
  });

  test("are processed also when the version exists", async () => {
    await app.publish(storeOfTasks("1.1.0", []));

    const answer = await publish(storeOfTasks("1.1.0", [seed("late")]));

    expect(answer).toMatchObject({ status: 409, body: { code: "Instance:100002" } });
    expect(await read("sys-tasks", "late")).toMatchObject({ status: 200 });
  });

  test("with a mistake refuse everything by path", async () => {
    const answer = await publish(
      storeOfTasks("1.2.0", [seed("fine"), seed("bad", { attributes: { type: "99" } })]),
    );

    expect(answer.status).toBe(400);
    expect(Object.keys(errorsOf(answer))).toEqual(["data[1].attributes.type"]);
    expect(await read("sys-tasks", "fine")).toMatchObject({ status: 404 });
    expect(await read("sys-flows", "sys-tasks", "1.2.0")).toMatchObject({ status: 404 });
  });

  test("of a workflow may be null", async () => {
    const answer = await publish({ ...aWorkflow("null-data").state("open").build(), data: null });

    expect(answer).toMatchObject({ status: 200, body: { warnings: [] } });
  });

  test("of anything but a workflow are not stored, and the answer says so", async () => {
    const answer = await publish({ ...task("no-store"), data: [seed("x")] });

    expect(answer).toMatchObject({
      status: 200,
      body: { warnings: [{ path: "data", message: expect.stringContaining("not stored") }] },
    });
  });

  test("of a redefined system flow do not change how definitions are read", async () => {
    await app.publish(storeOfTasks("9.0.0", []));
    await app.publish(task("after-redefinition"));

    expect(await read("sys-tasks", "after-redefinition")).toMatchObject({ status: 200 });
    expect((await read("sys-flows", "sys-tasks")).body).toMatchObject({ key: "sys-tasks" });
  });
});

describe("the domain", () => {
  test("of another runtime is refused", async () => {
    const core = await startRuntime({ settings: { "Runtime.Domain": "core" } });

    const own = await core.post(publishPath, task("domain-own"));
    const other = await core.post(publishPath, task("domain-other", { domain: "hr" }));

    expect(own.status).toBe(200);
    expect(other).toMatchObject({
      status: 400,
      body: {
        type: "https://httpstatuses.com/400/validation/Instance/100001",
        errorCode: "validation.Instance:100001",
        errors: {},
      },
    });
  });
});

describe("what the definition says beyond the rules", () => {
  test("a $schema of another version and unknown members are kept", async () => {
    const component = {
      $schema: "https://unpkg.com/@example/schema@0.0.33/task.schema.json",
      _comment: "written by hand",
      ...task("extras", {
        attributes: { type: "7", config: { later: [1, { a: null }] }, "x-owner": "risk" },
      }),
    };

    const answer = await publish(component);
    const back = await read("sys-tasks", "extras");

    expect(answer).toMatchObject({ status: 200, body: { warnings: [] } });
    expect(back.body).toMatchObject({ attributes: component.attributes });
  });

  test("members keep their order and numbers their digits", async () => {
    const attributes =
      '{"type":"7","z":1,"config":{"big":9007199254740993,"scale":0.10,"long":3.141592653589793238462643,"minus":-0.0,"a":1e400},"b":2}';
    const { attributes: _, ...envelope } = task("digits");

    const answer = await publish(
      `${JSON.stringify(envelope).slice(0, -1)},"attributes":${attributes}}`,
    );
    const back = await read("sys-tasks", "digits");

    expect(answer).toMatchObject({ status: 200, body: { warnings: [] } });
    expect(back.text).toContain(`"attributes":${attributes}`);
  });

  test("a number written with its scale is as right as any other", async () => {
    const { attributes: _, ...envelope } = aSchema("scale", {});
    const schema =
      '{"type":"object","properties":{"price":{"type":"number","multipleOf":0.10,"maximum":9007199254740993},"n":{"minLength":1.0,"type":"string"}}}';

    const answer = await publish(
      `${JSON.stringify(envelope).slice(0, -1)},"attributes":{"type":"workflow","labels":[],"schema":${schema}}}`,
    );

    expect(answer.status).toBe(200);
    expect((await read("sys-schemas", "scale")).text).toContain(schema);
  });

  test("keys like __proto__ are names like any other", async () => {
    const attributes =
      '{"type":"7","config":{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}}';
    const { attributes: _, ...envelope } = task("proto");

    const answer = await publish(
      `{"__proto__":{"key":"evil"},${JSON.stringify(envelope).slice(1, -1)},"attributes":${attributes}}`,
    );
    const back = await read("sys-tasks", "proto");

    expect(answer).toMatchObject({ status: 200, body: { key: "proto" } });
    expect(back.text).toContain(`"attributes":${attributes}`);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test("text that jsonb could not hold is stored and read back", async () => {
    const attributes = '{"type":"7","config":{"nul":"a\\u0000b","half":"\\ud800"}}';
    const { attributes: _, ...envelope } = task("odd-text");

    const answer = await publish(
      `${JSON.stringify(envelope).slice(0, -1)},"attributes":${attributes}}`,
    );
    const back = await read("sys-tasks", "odd-text");

    expect(answer.status).toBe(200);
    expect(back.text).toContain(`"attributes":${attributes}`);
  });

  test("an expression stands in a rule as text", async () => {
    const answer = await publish(
      aWorkflow("expressions")
        .state("open")
        .transition("auto", { to: "closed", rule: "context.Instance.Data.amount > 5" })
        .state("closed", { type: "finish" }),
    );

    expect(answer).toMatchObject({ status: 200, body: { warnings: [] } });
    expect((await read("sys-flows", "expressions")).text).toContain(
      JSON.stringify(expression("context.Instance.Data.amount > 5")),
    );
  });
});

test("who published is recorded from the caller's identity", async () => {
  await app.post(publishPath, task("audited"), { act_sub: "agent7", sub: "cust1" });
  await app.post(publishPath, task("audited", { version: "1.1.0", tags: ["new"] }), {
    act_sub: "agent8",
  });

  const back = await read("sys-tasks", "audited", "1.0.0");

  expect(back.body).toMatchObject({
    tags: ["new"],
    metadata: { createdBy: "agent7", createdByBehalfOf: "cust1", modifiedBy: "agent8" },
  });
});

test("/api/v1.0 publishes as /api/v1 does", async () => {
  const answer = await app.post("/api/v1.0/definitions/publish", task("long-version"));

  expect(answer).toMatchObject({ status: 200, body: { key: "long-version" } });
});

test("a publish on one node is read on the other", async () => {
  const other = await startRuntime({ databaseUrl: app.databaseUrl });
  await other.publish(task("on-the-other"));

  expect(await read("sys-tasks", "on-the-other")).toMatchObject({ status: 200 });
  expect(await publish(task("on-the-other"))).toMatchObject({ status: 409 });
});
