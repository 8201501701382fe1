import { describe, expect, test } from "vitest";
import { allow, aFunction, deny, functionRef, functionTask } from "../support/a-function.ts";
import { aComponent, aSchema, aWorkflow, expression } from "../support/a-workflow.ts";
import { codeOf, instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();

const schemaRef = (key: string) => ({
  key,
  domain: "core",
  flow: "sys-schemas",
  version: "latest",
});
const viewRef = (key: string) => ({ key, domain: "core", flow: "sys-views", version: "latest" });
const nothing = "return { Data: 1 };";

await app.publish(
  functionTask,
  aSchema("asked", {
    type: "object",
    properties: { n: { maximum: 5 }, s: { "x-roles": [allow("officer")] } },
  }),
  aComponent("sys-views", "asking", { type: 1, content: { a: 1 } }),
  aComponent("sys-views", "asking-officers", { type: 1, content: { a: 2 } }),
  aFunction(
    "whole",
    nothing,
    {
      verbs: ["POST", "GET"],
      inputSchema: schemaRef("asked"),
      inputView: [
        {
          rule: expression('context.Headers["role"] == "officer"'),
          view: viewRef("asking-officers"),
        },
        { view: viewRef("asking"), loadData: true },
      ],
      outputSchema: { schemas: [{ rule: expression("false"), schema: schemaRef("asked") }] },
      rawResponse: true,
      cache: { key: "k" },
    },
    { version: "1.2.0" },
  ),
  aFunction("bare", nothing, { scope: "I" }),
  aFunction("guarded", nothing, { roles: [allow("officer")] }),
  aFunction("denied", nothing, { scope: "F", roles: [deny("trainee")] }),
  aFunction("older", nothing, {}, { version: "1.0.0" }),
  aFunction("older", nothing, {}, { version: "2.0.0" }),
  aFunction("unlisted", nothing, { scope: "F" }),
  aFunction("too-early", nothing, {
    inputView: viewRef("not-published"),
    outputSchema: schemaRef("not-published"),
  }),
  aWorkflow("lists")
    .state("here")
    .with({
      functions: ["guarded", "not-published", "whole", "denied", "bare"]
        .map((key) => functionRef(key))
        .concat(functionRef("older", "1.0.0")),
    }),
);
const flows = instancesOf(app, "lists");
const id = await flows.begin({});
const domain = "/api/v1/core/functions";
const instance = `/api/v1/core/workflows/lists/instances/${id}/functions`;
const officer = { role: "officer" };

describe("/info", () => {
  test("tells verbs, address, and which views and schemas there are", async () => {
    const { body, headers } = await app.get(`${domain}/whole/info`);

    const href = `${domain}/whole`;
    expect(body).toEqual({
      key: "whole",
      domain: "core",
      version: "1.2.0",
      scope: "D",
      function: { href, verbs: ["POST", "GET"] },
      href,
      verbs: ["POST", "GET"],
      hasView: true,
      hasSchema: true,
      rawResponse: true,
      cacheable: true,
      inputView: { href: `${href}/view?target=input`, hasView: true, loadData: true },
      outputView: { href: `${href}/view?target=output`, hasView: false, loadData: false },
      inputSchema: { href: `${href}/schema?target=input`, hasSchema: true },
      outputSchema: { href: `${href}/schema?target=output`, hasSchema: false },
    });
    expect(headers).not.toHaveProperty("etag");
  });

  test("on an instance has the instance's addresses; without verbs all four are allowed", async () => {
    const { body } = await app.get(`${instance}/bare/info`);

    expect(body).toMatchObject({
      scope: "I",
      href: `${instance}/bare`,
      function: { verbs: [] },
      verbs: ["GET", "POST", "PATCH", "DELETE"],
      hasView: false,
      hasSchema: false,
      rawResponse: false,
      cacheable: false,
    });
  });

  test("has no view and no schema where none is published yet", async () => {
    const { body } = await app.get(`${domain}/too-early/info`);

    expect(body).toMatchObject({
      hasView: false,
      hasSchema: false,
      inputView: { hasView: false },
      outputSchema: { hasSchema: false },
    });
    expect((await app.get(`${domain}/too-early/view`)).status).toBe(404);
    expect((await app.get(`${domain}/too-early/schema?target=output`)).status).toBe(404);
  });

  test("keeps the version that was asked for in its addresses", async () => {
    const { body } = await app.get(`${domain}/older/info?version=1.0.0`);

    expect(body).toMatchObject({ version: "1.0.0", href: `${domain}/older?version=1.0.0` });
  });

  test.each(["state", "Catalog", "authorize"])("is 404 for the built-in %s", async (name) => {
    for (const slot of ["info", "view", "schema"]) {
      expect((await app.get(`${instance}/${name}/${slot}`)).status).toBe(404);
    }
  });
});

describe("/view and /schema", () => {
  test("answer with what this caller is shown", async () => {
    expect((await app.get(`${domain}/whole/view`)).body).toMatchObject({ key: "asking" });
    expect((await app.get(`${instance}/whole/view?target=input`, officer)).body).toMatchObject({
      key: "asking-officers",
    });
    expect((await app.get(`${domain}/whole/schema`)).body).toEqual({
      key: "asked",
      type: "workflow",
      schema: { type: "object", properties: { n: { maximum: 5 } } },
    });
    expect((await app.get(`${domain}/whole/schema`, officer)).text).toContain("x-roles");
  });

  test("are 404 for an empty slot and for one whose rules all refuse, 400 for another target", async () => {
    expect(codeOf(await app.get(`${domain}/whole/view?target=output`))).toBe(
      "404 notfound.Function:800004",
    );
    expect(codeOf(await app.get(`${domain}/whole/schema?Target=Output`))).toBe(
      "404 notfound.Function:800004",
    );
    expect(codeOf(await app.get(`${domain}/whole/schema?target=both`))).toBe(
      "400 validation.Function:800005",
    );
  });
});

describe("discovery and execution", () => {
  const cells = ["guarded", "denied", "bare", "unlisted", "whole", "not-published"].flatMap((key) =>
    ["", "officer", "trainee", "officer,trainee"].flatMap((role) =>
      [domain, instance].map((base) => [key, role, base] as const),
    ),
  );

  test.each(cells)("agree on %s for '%s' at %s", async (key, role, base) => {
    const headers: Record<string, string> = role === "" ? {} : { role };
    const call = codeOf(await app.post(`${base}/${key}`, undefined, headers));

    const slots = await Promise.all(
      ["info", "view", "schema"].map((slot) => app.get(`${base}/${key}/${slot}`, headers)),
    );

    const refusals = slots.map(codeOf).filter((code) => !code.includes("Function:800004"));
    for (const code of refusals) expect(code).toBe(call);
    if (base === instance && key !== "not-published") {
      const asked = await app.get(`${instance}/authorize?functionKey=${key}`, headers);
      expect(asked.status === 200).toBe(call === "200");
    }
  });
});

describe("the catalog", () => {
  test("lists what the workflow declares and the caller may call, in that order", async () => {
    const catalog = async (headers = {}) =>
      ((await app.get(`${instance}/catalog`, headers)).body as { functions: { name: string }[] })
        .functions;

    expect(await catalog(officer)).toEqual([
      { name: "guarded", version: "1.0.0", scope: "D", href: `${domain}/guarded/info` },
      { name: "whole", version: "1.2.0", scope: "D", href: `${domain}/whole/info` },
      { name: "denied", version: "1.0.0", scope: "F", href: `${instance}/denied/info` },
      { name: "bare", version: "1.0.0", scope: "I", href: `${instance}/bare/info` },
      { name: "older", version: "1.0.0", scope: "D", href: `${domain}/older/info?version=1.0.0` },
    ]);
    expect((await catalog({ role: "trainee" })).map(({ name }) => name)).toEqual([
      "whole",
      "bare",
      "older",
    ]);
    for (const { href } of (await catalog(officer)) as unknown as { href: string }[]) {
      expect((await app.get(href, officer)).status).toBe(200);
    }
  });
});

describe("the functions of a domain", () => {
  test("are listed with every version and its definition, as clients of the public system read it", async () => {
    const list = (await app.get("/api/v1/core/functions")).body as {
      key: string;
      version: string;
    }[];

    expect(list.map(({ key, version }) => `${key} ${version}`)).toEqual([
      "bare 1.0.0",
      "denied 1.0.0",
      "guarded 1.0.0",
      "older 1.0.0",
      "older 2.0.0",
      "too-early 1.0.0",
      "unlisted 1.0.0",
      "whole 1.2.0",
    ]);
    expect(list[2]).toMatchObject({
      key: "guarded",
      domain: "core",
      flow: "sys-functions",
      flowVersion: "1.0.0",
      tags: [],
      attributes: { scope: "D", roles: [allow("officer")] },
      instance: { key: "guarded", flow: "sys-functions", status: "A" },
      instanceData: { version: "1.0.0", data: { scope: "D" } },
    });
    expect((await app.get("/api/v1/nowhere/functions")).body).toEqual([]);
  });
});
