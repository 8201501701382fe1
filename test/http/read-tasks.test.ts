/** Tasks that read instances: their data, the whole of one, a page of them. */
import { describe, expect, test } from "vitest";
import { aSchema, aWorkflow, defaultDomain, hook } from "../support/a-workflow.ts";
import { instancesOf } from "../support/instances-of.ts";
import { aTask, dataOf, runTask } from "../support/run-task.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const library = await startRuntimeForFile({ settings: { "Runtime.Domain": "library" } });
const app = await startRuntimeForFile({
  settings: {
    "Runtime.Domain": defaultDomain,
    "Domains.Addresses": [`library=${library.url}`],
  },
});

const aBook = aWorkflow("book").state("shelf").transition("lend", { to: "lent" }).state("lent");
await app.publish(aBook);
await library.publish(aBook.in("library"));
const books = instancesOf(app, "book");
const remote = instancesOf(library, "book", "library");
for (const [flow, place] of [
  [books, "here"],
  [remote, "there"],
] as const) {
  for (const pages of [120, 310, 450]) {
    await flow.begin({ key: `${place}-${pages}`, tags: [place], attributes: { pages } });
  }
}

interface Page {
  items: { key: string }[];
  links: object;
}

describe.each([
  ["here", defaultDomain, books],
  ["in another domain", "library", remote],
])("an instance %s", (where, domain, flow) => {
  const place = where === "here" ? "here" : "there";
  const config = { domain, flow: "book" };
  const name = (key: string) => `${key}-${domain}`;

  test("is read as a whole by its key", async () => {
    const { response } = await runTask(app, {
      key: name("reads-one"),
      type: "19",
      config: { ...config, key: `${place}-310` },
    });

    const { body } = await flow.get(`${place}-310`);
    expect(response).toMatchObject({ statusCode: 200, isSuccess: true, taskType: "getinstance" });
    expect(response?.["data"]).toEqual(body);
  });

  test("is read by its id, which the script may set", async () => {
    const { id } = await flow.read(`${place}-120`);

    const { response } = await runTask(app, {
      key: name("reads-by-id"),
      type: "19",
      config: { ...config, key: `${place}-310` },
      input: `task.SetInstance("${id}")`,
    });

    expect(response).toMatchObject({ data: { id, attributes: { pages: 120 } } });
  });

  test("shows its data", async () => {
    const { response } = await runTask(app, {
      key: name("reads-data"),
      type: "13",
      config: { ...config, key: `${place}-450` },
    });

    const { entityEtag } = await flow.read(`${place}-450`);
    expect(response).toMatchObject({ statusCode: 200, taskType: "getinstancedata" });
    expect(response?.["data"]).toEqual({
      data: { pages: 450 },
      eTag: expect.any(String),
      entityEtag,
      extensions: {},
    });
  });

  test.each([
    ["13", "reads-no-data"],
    ["19", "reads-nobody"],
  ])("that is not there is a failure (%s)", async (type, key) => {
    const { response } = await runTask(app, {
      key: name(key),
      type,
      config: { ...config, key: "nobody" },
    });

    expect(response).toMatchObject({
      isSuccess: false,
      statusCode: 404,
      metadata: { ErrorCode: "notfound.Instance:100013" },
    });
  });

  test.each([
    ["text", '{"attributes":{"pages":{"gt":"200"}}}'],
    ["list", ['{"attributes":{"pages":{"gt":"200"}}}']],
    ["object", { attributes: { pages: { gt: "200" } } }],
  ])("is found by a filter given as %s", async (form, filter) => {
    const reading = await runTask(app, {
      key: name(`filters-by-${form}`),
      type: "15",
      config: { ...config, filter, sort: '{"field":"attributes.pages","direction":"desc"}' },
    });

    expect(reading.response).toMatchObject({ statusCode: 200, taskType: "getinstances" });
    const { items, links } = dataOf(reading) as Page;
    expect(items.map((item) => item.key)).toEqual([`${place}-450`, `${place}-310`]);
    expect(links).toMatchObject({ next: "", prev: "" });
  });

  test.each([
    ["-CreatedAt", [450, 310, 120]],
    ["createdAt", [120, 310, 450]],
    ["-attributes.pages", [450, 310, 120]],
  ])("is sorted by the short form %s, as public packages write it", async (sort, pages) => {
    const reading = await runTask(app, {
      key: name(`sorts-by-${sort.replaceAll(/\W/g, "-")}`),
      type: "15",
      config: { ...config, sort, page: 0, pageSize: 0 },
    });

    const { items } = dataOf(reading) as Page;
    expect(items.map((item) => item.key)).toEqual(pages.map((count) => `${place}-${count}`));
  });

  test("comes in pages, whose links repeat the question", async () => {
    const reading = await runTask(app, {
      key: name("pages"),
      type: "15",
      config: { ...config, page: 1, pageSize: 1 },
      input: `task.SetPage(2); task.SetPageSize(2); task.SetSort('{"field":"key"}')`,
    });

    const path = `/api/v1/${domain}/workflows/book/instances`;
    const sort = encodeURIComponent('{"field":"key"}');
    const { items, links } = dataOf(reading) as Page;
    expect(items.map((item) => item.key)).toEqual([`${place}-450`]);
    expect(links).toEqual({
      self: `${path}?page=2&pageSize=2&sort=${sort}`,
      first: `${path}?page=1&pageSize=2&sort=${sort}`,
      next: "",
      prev: `${path}?page=1&pageSize=2&sort=${sort}`,
    });
  });

  test("is not searched by a filter that cannot be understood", async () => {
    const { response } = await runTask(app, {
      key: name("filters-wrongly"),
      type: "15",
      config: { ...config, filter: '{"attributes":{"pages":{"about":1}}}' },
    });

    expect(response).toMatchObject({
      isSuccess: false,
      statusCode: 400,
      metadata: { ErrorCode: "validation.Validation:900011" },
    });
  });
});

test("a task may ask its own domain for larger pages than the API gives", async () => {
  const ask = (domain: string) =>
    runTask(app, {
      key: `asks-${domain}-for-500`,
      type: "15",
      config: { domain, flow: "book", pageSize: 500 },
    });

  const here = await ask(defaultDomain);
  const there = await ask("library");

  expect((dataOf(here) as Page).items).toHaveLength(3);
  expect(there.response).toMatchObject({
    isSuccess: false,
    metadata: { ErrorCode: "validation.ModelValidation:Failed" },
  });
});

test("without a mapping, what was read is merged", async () => {
  await app.publish(
    aTask("takes-over", "15", { domain: defaultDomain, flow: "book", pageSize: 1 }),
    aWorkflow("takes-over")
      .state("open")
      .transition("go", { onExecutionTasks: hook("takes-over") }),
  );
  const flow = instancesOf(app, "takes-over");
  const id = await flow.begin({});

  await flow.send(id, "go", {});

  expect((await flow.read(id)).attributes).toMatchObject({ items: [{ flow: "book" }] });
});

test.each([
  ["here", defaultDomain, books],
  ["in another domain", "library", remote],
])("numbers read %s stay as they were sent", async (_where, domain, flow) => {
  const key = `takes-numbers-${domain}`;
  await flow.start(`{"key":"${key}","attributes":{"rate":0.10,"big":9007199254740993}}`);
  await app.publish(
    aTask(key, "13", { domain, flow: "book", key }),
    aWorkflow(key)
      .state("open")
      .transition("go", { onExecutionTasks: hook(key) }),
  );
  const readers = instancesOf(app, key);
  const id = await readers.begin({});

  await readers.send(id, "go", {});

  const { text } = await readers.get(id);
  expect(text).toContain("0.10");
  expect(text).toContain("9007199254740993");
});

test("a task without an instance reads its own", async () => {
  const { response, id } = await runTask(app, {
    key: "reads-itself",
    type: "13",
    config: { domain: defaultDomain, flow: "reads-itself" },
    data: { mine: true },
  });

  expect(response).toMatchObject({ data: { data: { mine: true } } });
  expect(id).toBeDefined();
});

test("definitions are read like instances", async () => {
  await app.publish(aSchema("read-me", { type: "object" }));

  const { response } = await runTask(app, {
    key: "reads-definition",
    type: "19",
    config: { domain: defaultDomain, flow: "sys-schemas", key: "read-me" },
  });

  expect(response).toMatchObject({ data: { key: "read-me", flow: "sys-schemas" } });
});

test("a task gets to see no more than the caller it acts for", async () => {
  await app.publish(
    aSchema("person", {
      type: "object",
      properties: {
        name: { type: "string" },
        salary: { type: "number", "x-roles": [{ role: "hr", grant: "allow" }] },
      },
    }),
    aWorkflow("person").schema("person").state("employed").transition("go"),
  );
  await instancesOf(app, "person").begin({ key: "ann", attributes: { name: "Ann", salary: 9 } });
  const config = { domain: defaultDomain, flow: "person", key: "ann" };

  const stranger = await runTask(app, { key: "looks-in", type: "13", config });
  const hr = await runTask(app, { key: "looks-at", type: "13", config, headers: { role: "hr" } });

  expect(stranger.response).toMatchObject({ data: { data: { name: "Ann" } } });
  expect(JSON.stringify(stranger.response)).not.toContain("salary");
  expect(hr.response).toMatchObject({ data: { data: { name: "Ann", salary: 9 } } });
});
