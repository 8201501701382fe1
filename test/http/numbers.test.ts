import { describe, expect, test } from "vitest";
import { aSchema, aWorkflow } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { idOf, instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();
await app.publish(
  aSchema("sized", {
    type: "object",
    properties: { n: { type: "number" }, big: { type: "integer" } },
  }),
  aWorkflow("order")
    .schema("sized")
    .start("begin", { schema: "sized" })
    .state("open")
    .transition("note", { schema: "sized" })
    .transition("large", { to: "large", rule: "context.Instance.Data.big > 9007199254740000" })
    .state("large")
    .transition("note", {}),
);
const orders = instancesOf(app, "order");

/** What was sent, and how it comes back. */
const numbers: [string, string][] = [
  ["9007199254740993", "9007199254740993"],
  ["-9007199254740993", "-9007199254740993"],
  ["123456789012345678901234567890", "123456789012345678901234567890"],
  ["0.10", "0.10"],
  ["1.0", "1.0"],
  ["100.00", "100.00"],
  ["3.141592653589793238462643383279", "3.141592653589793238462643383279"],
  ["1e5", "100000"],
  ["12", "12"],
  ["0.5", "0.5"],
];

describe.each(numbers)("%s", (sent, expected) => {
  const member = `"n":${expected}`;
  const same = (text: string) => expect(text.replaceAll(" ", "")).toContain(member);

  test(`comes back as ${expected.slice(0, 40)} from start, read, list and history`, async () => {
    const answer = await orders.start(`{"n":${sent},"other":[{"n":${sent}}]}`);
    const id = idOf(answer);

    expect(answer.status).toBe(200);
    same(answer.text);
    same((await orders.get(id)).text);
    same((await orders.list(`filter={"id":{"eq":"${id}"}}`)).text);
    same((await app.get(`${orders.path}/${id}/transitions`)).text);
    expect((await orders.get(id)).text).toContain(`[{"n":${expected}}]`);
  });

  test("comes through a merge, at the time and queued", async () => {
    const id = await orders.begin('{"deep":{"a":0.10}}');

    same((await orders.send(id, "note", `{"deep":{"n":${sent}}}`)).text);
    await orders.send(id, "note", `{"again":{"n":${sent}}}`, { query: "sync=false" });

    await eventually(async () => {
      const { text } = await orders.get(id);
      expect(text).toContain(`"again":{"n":${expected}}`);
      expect(text).toMatch(/"deep":\{("a":0\.10,"n":[^,}]+|"n":[^,}]+,"a":0\.10)\}/);
    });
    same((await orders.get(id, { query: "version=1.0.1" })).text);
  });
});

test("an integer beyond 2^53 is an integer to schemas and rules", async () => {
  const id = await orders.begin('{"big":9007199254740993}');

  expect((await orders.read(id)).metadata.currentState).toBe("large");
});

test("a change of the last digit is a change", async () => {
  const id = await orders.begin('{"n":0.1}');
  const before = await orders.read(id);

  await orders.send(id, "note", '{"n":0.10}');
  const zero = await orders.get(id);
  await orders.send(id, "note", '{"n":0.10}');

  expect(zero.text).toContain('"n":0.10');
  expect((zero.body as typeof before).entityEtag).not.toBe(before.entityEtag);
  expect((await orders.read(id)).entityEtag).toBe((zero.body as typeof before).entityEtag);
});

test.each(["1e-7", "1e300", "-2.5E+30"])("%s may be written out, its value stays", async (sent) => {
  const answer = await orders.start(`{"n":${sent}}`);
  const read = await orders.read(idOf(answer));
  const [record] = await orders.history(idOf(answer));

  expect(answer).toMatchObject({ status: 200, body: { attributes: { n: Number(sent) } } });
  expect(read.attributes).toEqual({ n: Number(sent) });
  expect(record?.body).toEqual({ n: Number(sent) });
});

test("a string that looks like a number is a string", async () => {
  const answer = await orders.start('{"text":"9007199254740993","price":"0.10"}');

  expect(answer.text).toContain('"text":"9007199254740993"');
  expect(answer.text).toContain('"price":"0.10"');
});
