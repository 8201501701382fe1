import { describe, expect, test } from "vitest";
import { handler, slot } from "../support/a-script-slot.ts";
import {
  aComponent,
  aSchema,
  aWorkflow,
  expression,
  type StateOptions,
} from "../support/a-workflow.ts";
import { codeOf, instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();

const viewRef = (key: string, domain = "core") => ({
  key,
  domain,
  flow: "sys-views",
  version: "latest",
});
const aView = (key: string, attributes: object = {}, envelope = {}) =>
  aComponent("sys-views", key, { type: 1, content: { page: key }, ...attributes }, envelope);
const allow = (role: string) => ({ role, grant: "allow" });
const schemaRef = (key: string) => ({
  key,
  domain: "core",
  flow: "sys-schemas",
  version: "latest",
});

const brackets = "[".repeat(200_000) + "]".repeat(200_000);

await app.publish(
  aView("plain", {
    display: "popup",
    renderer: "vue",
    labels: [
      { label: "Plain", language: "en-US" },
      { label: "Schlicht", language: "de-DE" },
    ],
    content: '{"amount":10.50,"big":9007199254740993}',
  }),
  aView("rich", { display: { sdi: "drawer", mdi: "inline" } }),
  aView("poor"),
  aView("override"),
  aView("page", { type: 2, content: "<p>hi</p>" }),
  aView("deep", { type: "deepLink", content: { href: "app://x" } }),
  aView("word", { type: 4, content: "app://y" }),
  aView("brackets", { content: brackets }),
  aView("elsewhere", {}, { domain: "cards" }),
  aView("multi", {
    display: "full-page",
    platformOverrides: {
      ios: { content: { page: "ios" }, display: "bottom-sheet" },
      android: { type: 3, content: "# android" },
    },
  }),
);

const startOf = async (
  key: string,
  state: StateOptions,
  transition: object = {},
  data: object = {},
) => {
  await app.publish(
    aWorkflow(key)
      .state("here", state)
      .transition("go", { to: "there", ...transition })
      .state("there", { type: "finish" }),
  );
  const flows = instancesOf(app, key);
  const id = await flows.begin(data);
  return (query = "", headers: Record<string, string> = {}) =>
    app.get(`${flows.path}/${id}/functions/view${query}`, headers);
};

describe("the view function", () => {
  test("answers with the state's view, its content read and its label in the caller's language", async () => {
    const view = await startOf("v-plain", { view: { view: viewRef("plain") } });

    const answer = await view("", { "accept-language": "de" });

    expect(answer.text).toBe(
      '{"key":"plain","content":{"amount":10.50,"big":9007199254740993},"type":"Json","display":"popup","label":"Schlicht","renderer":"vue"}',
    );
    expect((await view()).body).toMatchObject({ label: "Plain" });
    expect(answer.headers).not.toHaveProperty("etag");
  });

  test.each([
    ["page", { content: "<p>hi</p>", type: "Html" }],
    ["brackets", { content: brackets, type: "Json" }],
    ["deep", { content: { href: "app://x" }, type: "DeepLink" }],
    ["word", { content: "app://y", type: "DeepLink" }],
    ["rich", { display: "drawer", modes: { sdi: "drawer", mdi: "inline" } }],
  ])("shows the view %s as clients know it", async (key, shown) => {
    const view = await startOf(`v-${key}`, { view: viewRef(key) });

    expect((await view()).body).toMatchObject({ key, ...shown });
  });

  test("takes the transition's when one is named, and falls back to nothing", async () => {
    const state = { view: { view: viewRef("plain") } };
    const view = await startOf("v-transition", state, { view: { view: viewRef("rich") } });
    const without = await startOf("v-none", state);

    expect((await view("?TransitionKey=go")).body).toMatchObject({ key: "rich" });
    expect(codeOf(await without("?transitionKey=go"))).toBe("404 notfound.notfound");
    expect(codeOf(await without("?transitionKey=none"))).toBe("404 notfound.notfound");
  });

  test("takes the first entry whose rule holds; a rule that fails is passed over", async () => {
    const view = await startOf(
      "v-rules",
      {
        view: {
          rules: [
            { rule: handler("throw new Error('no');"), view: viewRef("page") },
            { rule: expression('context.Instance.Data.kind == "rich"'), view: viewRef("rich") },
            {
              rule: handler(
                "return context.QueryParameters.channel === 'web' && context.Body.kind === 'poor';",
              ),
              view: viewRef("poor"),
            },
          ],
          default: { view: viewRef("plain") },
        },
      },
      {},
      { kind: "poor" },
    );

    expect((await view("?channel=web")).body).toMatchObject({ key: "poor" });
    expect((await view("?channel=app")).body).toMatchObject({ key: "plain" });
  });

  test("is 404 when nothing is declared or no rule holds", async () => {
    const none = await startOf("v-nothing", {});
    const refused = await startOf("v-refused", {
      views: [{ rule: expression("false"), view: viewRef("plain") }],
    });

    expect(codeOf(await none())).toBe("404 notfound.notfound");
    expect(codeOf(await refused())).toBe("404 notfound.notfound");
  });

  test("has another face for a platform that the view knows", async () => {
    const view = await startOf("v-platform", { view: viewRef("multi") });

    expect((await view("?platform=iOS")).body).toMatchObject({
      content: { page: "ios" },
      type: "Json",
      display: "bottom-sheet",
    });
    expect((await view("?Platform=android")).body).toMatchObject({
      content: "# android",
      type: "Markdown",
      display: "full-page",
    });
    expect((await view("?platform=tv")).body).toMatchObject({ content: { page: "multi" } });
  });

  test("may be a view of another domain, and names one that is not there", async () => {
    const other = await startOf("v-other", { view: viewRef("elsewhere", "cards") });
    const missing = await startOf("v-missing", { view: viewRef("not-published") });

    expect((await other()).body).toMatchObject({ key: "elsewhere" });
    expect(codeOf(await missing())).toBe("404 notfound.Cache:300001");
  });
});

describe("the view of a wizard state", () => {
  test("is that of its one way on for those who may take it, else the state's", async () => {
    await app.publish(
      aWorkflow("v-wizard")
        .state("start-here")
        .transition("begin", { to: "form" })
        .state("form", { type: "wizard", view: viewRef("plain") })
        .transition("next", {
          to: "end",
          roles: [allow("customer")],
          view: {
            views: [
              { rule: expression('context.Headers["x-full"] == "1"'), view: viewRef("rich") },
            ],
          },
        })
        .state("end", { type: "finish" }),
    );
    const flows = instancesOf(app, "v-wizard");
    const id = await flows.begin({});
    await flows.send(id, "begin");
    const path = `${flows.path}/${id}/functions/view`;

    expect((await app.get(path, { role: "customer", "x-full": "1" })).body).toMatchObject({
      key: "rich",
    });
    expect((await app.get(path, { role: "customer", "x-full": "0" })).body).toMatchObject({
      key: "plain",
    });
    expect((await app.get(path, { "x-full": "1" })).body).toMatchObject({ key: "plain" });
  });
});

describe("with an open subflow", async () => {
  const mapping = slot(
    "export function InputHandler() { return { Data: { kind: 'sub' } }; }\nexport function OutputHandler() { return {}; }",
  );
  await app.publish(
    aSchema("form-schema", { type: "object", properties: { a: { type: "number", maximum: 1.5 } } }),
    aSchema("sub-master", { type: "object" }),
    aWorkflow("v-child")
      .state("one", { view: viewRef("plain") })
      .transition("fill", { to: "two", view: viewRef("plain"), schema: "form-schema" })
      .state("two")
      .transition("end", { to: "three" })
      .state("three", { type: "finish" })
      .schema("sub-master"),
    aWorkflow("v-parent")
      .state("open")
      .transition("go", { to: "inside" })
      .state("inside", {
        type: "subFlow",
        view: viewRef("poor"),
        subFlow: {
          type: "S",
          process: { key: "v-child", domain: "core", flow: "sys-flows", version: "1.0.0" },
          mapping,
          overrides: {
            states: { one: { views: { plain: viewRef("override") } } },
            transitions: { fill: { views: { plain: viewRef("rich") } } },
          },
        },
      })
      .transition("after", { to: "done", rule: "true" })
      .state("done", { type: "finish" })
      .state("off", { type: "finish" })
      .cancel("drop", { to: "off", view: viewRef("page"), schema: "form-schema" }),
  );
  const parents = instancesOf(app, "v-parent");
  const begun = async () => {
    const id = await parents.begin({});
    await parents.send(id, "go");
    return { id, fn: (name: string) => app.get(`${parents.path}/${id}/functions/${name}`) };
  };

  test("view, schema and master are the subflow's, with what the parent replaces", async () => {
    const { fn } = await begun();

    expect((await fn("view")).body).toMatchObject({ key: "override" });
    expect((await fn("view?transitionKey=fill")).body).toMatchObject({ key: "rich" });
    expect((await fn("view?transitionKey=drop")).body).toMatchObject({ key: "page" });
    expect((await fn("schema?transitionKey=fill")).body).toMatchObject({ key: "form-schema" });
    expect((await fn("schema?transitionKey=fill")).headers).not.toHaveProperty("etag");
    expect((await fn("schema?transitionKey=drop")).headers).toHaveProperty("etag");
    expect((await fn("master")).body).toMatchObject({ key: "sub-master" });
  });

  test("the parent's own view stands in for one that the subflow does not have", async () => {
    const { id, fn } = await begun();
    await parents.send(id, "fill", { a: 1 });

    expect((await fn("view")).body).toMatchObject({ key: "poor" });
  });
});

describe("the schema function", () => {
  test("answers with the transition's schema, number for number, with an ETag", async () => {
    await app.publish(
      aSchema("sent", { type: "object", properties: { a: { maximum: 1 } } }),
      aWorkflow("s-plain")
        .state("here")
        .transition("go", { to: "there", schema: "sent" })
        .state("there"),
    );
    const flows = instancesOf(app, "s-plain");
    const id = await flows.begin({});
    const path = `${flows.path}/${id}/functions/schema?transitionKey=go`;

    const first = await app.get(path);

    expect(first.body).toEqual({
      key: "sent",
      type: "workflow",
      schema: { type: "object", properties: { a: { maximum: 1 } } },
      eTag: first.headers["etag"],
    });
    expect((await app.get(path, { "if-none-match": first.headers["etag"] ?? "" })).status).toBe(
      304,
    );
    expect((await app.get(path.replace("go", "other"))).status).toBe(404);
    expect(codeOf(await app.get(path.replace(/\?.*/, "")))).toBe(
      "400 validation.ModelValidation:Failed",
    );
  });

  test("chooses by rule, and then carries no ETag", async () => {
    await app.publish(
      aSchema("long", { type: "object", title: "long" }),
      aSchema("short", { type: "object", title: "short" }),
      aWorkflow("s-rules")
        .state("here")
        .transition("go", {
          to: "there",
          schema: {
            schemas: [
              { rule: expression("context.Instance.Data.big == true"), schema: schemaRef("long") },
              { schema: schemaRef("short") },
            ],
          },
        })
        .state("there"),
    );
    const flows = instancesOf(app, "s-rules");
    const [big, small] = [await flows.begin({ big: true }), await flows.begin({ big: false })];
    const of = (id: string) => app.get(`${flows.path}/${id}/functions/schema?transitionKey=go`);

    expect((await of(big)).body).toMatchObject({ key: "long" });
    expect((await of(small)).body).toMatchObject({ key: "short" });
    expect((await of(small)).headers).not.toHaveProperty("etag");
    expect((await of(small)).body).not.toHaveProperty("eTag");
  });

  test("leaves out the fields that the caller may not see, in the master schema too", async () => {
    await app.publish(
      aSchema("guarded", {
        type: "object",
        required: ["name", "limit"],
        properties: { name: {}, limit: { "x-roles": [allow("officer")] } },
      }),
      aWorkflow("s-roles")
        .state("here")
        .transition("go", { to: "there", schema: "guarded" })
        .state("there")
        .schema("guarded"),
    );
    const flows = instancesOf(app, "s-roles");
    const id = await flows.begin({ name: "n", limit: 1 });
    const read = async (name: string, role: string) => {
      const answer = await app.get(`${flows.path}/${id}/functions/${name}`, { role });
      const { schema } = answer.body as { schema: { required: string[]; properties: object } };
      return [...Object.keys(schema.properties), ...schema.required, answer.headers["etag"]];
    };

    for (const name of ["schema?transitionKey=go", "master"]) {
      const customer = await read(name, "customer");
      const officer = await read(name, "officer");
      expect(customer.slice(0, -1)).toEqual(["name", "name"]);
      expect(officer.slice(0, -1)).toEqual(["name", "limit", "name", "limit"]);
      expect(customer.at(-1)).not.toBe(officer.at(-1));
    }
  });

  test("master is 404 for a workflow without one", async () => {
    const view = await startOf("s-none", {});
    await view();

    const flows = instancesOf(app, "s-none");
    const id = await flows.begin({});
    expect(codeOf(await app.get(`${flows.path}/${id}/functions/master`))).toBe(
      "404 notfound.notfound",
    );
  });
});
