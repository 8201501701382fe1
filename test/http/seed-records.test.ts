import { expect, test } from "vitest";
import { aWorkflow } from "../support/a-workflow.ts";
import { publishPath, startRuntimeForFile } from "../support/start-runtime.ts";

const runtime = await startRuntimeForFile();
const instances = (flow: string) => `/api/v1/core/workflows/${flow}/instances`;

const countries = (flow: string, version: string, data: object[]) => ({
  ...aWorkflow(flow).version(version).state("listed").transition("rename").build(),
  data,
});
const country = (key: string, version: string, attributes: object) => ({
  key,
  version,
  tags: ["country"],
  attributes,
});

test("seed records of a workflow are instances of it, at rest in its initial state", async () => {
  await runtime.publish(
    countries("countries", "1.0.0", [country("tr", "1.0.0", { name: "Türkiye" })]),
  );

  const seeded = await runtime.get(`${instances("countries")}/tr`);

  expect(seeded).toMatchObject({
    status: 200,
    body: {
      key: "tr",
      flow: "countries",
      flowVersion: "1.0.0",
      tags: ["country"],
      metadata: { currentState: "listed", status: "A" },
      attributes: { name: "Türkiye" },
    },
  });
  const moved = await runtime.patch(`${instances("countries")}/tr/transitions/rename?sync=true`, {
    attributes: { short: "TR" },
  });
  expect(moved.body).toMatchObject({ status: "A", attributes: { name: "Türkiye", short: "TR" } });
});

test("a further version of a seed replaces the data, the earlier one stays readable", async () => {
  const first = country("de", "1.0.0", { name: "Germany", old: true });
  await runtime.publish(countries("lands", "1.0.0", [first]));
  await runtime.publish(
    countries("lands", "1.1.0", [country("de", "2.0.0", { name: "Deutschland" })]),
  );
  await runtime.publish(
    countries("lands", "1.2.0", [country("de", "1.5.0", { name: "Alemania" })]),
  );

  const path = `${instances("lands")}/de`;
  const latest = await runtime.get(path);
  const before = await runtime.get(`${path}?version=1.0.0`);
  const between = await runtime.get(`${path}?version=1`);

  expect(latest.body).toMatchObject({ attributes: { name: "Deutschland" } });
  expect((latest.body as { attributes: object }).attributes).toEqual({ name: "Deutschland" });
  expect(before.body).toMatchObject({ attributes: { name: "Germany", old: true } });
  expect((between.body as { attributes: object }).attributes).toEqual({ name: "Alemania" });
});

test("a version that exists is a conflict, and its seeds are stored all the same", async () => {
  await runtime.publish(countries("states", "1.0.0", []));

  const again = await runtime.post(
    publishPath,
    countries("states", "1.0.0", [country("fr", "1.0.0", { name: "France" })]),
  );

  expect(again).toMatchObject({ status: 409, body: { code: "Instance:100002" } });
  expect(await runtime.get(`${instances("states")}/fr`)).toMatchObject({ status: 200 });
});
