import { expect, test } from "vitest";
import { aComponent, aWorkflow } from "../support/a-workflow.ts";
import { publishPath, startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();
const path = "/api/v1/definitions/validate";
const task = (version: string) =>
  aComponent("sys-tasks", "a", { type: "7", config: {} }, { version });
const read = () => app.get("/api/v1/core/workflows/sys-tasks/instances/a");

test("a component that could be published is told so, and is not", async () => {
  const { tags: _tags, ...withoutTags } = task("1.0.0");

  const answer = await app.post(path, withoutTags);

  expect(answer).toMatchObject({
    status: 200,
    body: {
      key: "a",
      flow: "sys-tasks",
      domain: "core",
      version: "1.0.0",
      exists: false,
      current: null,
      warnings: [{ path: "tags" }],
    },
  });
  expect((await read()).status).toBe(404);
});

test("a version that is there is told, with the latest one", async () => {
  await app.publish(task("1.0.0"), task("2.0.0"));

  expect((await app.post(path, task("1.0.0"))).body).toMatchObject({
    exists: true,
    current: "2.0.0",
  });
  expect((await app.post(path, task("3.0.0"))).body).toMatchObject({
    exists: false,
    current: "2.0.0",
  });
});

test.each([
  ["two initial states", aWorkflow("w").state("a").state("b", { type: "initial" }).build()],
  ["no component", { nothing: true }],
  [
    "a script that does not compile",
    aWorkflow("w").state("a").transition("t", { to: "a", rule: "context.(" }).build(),
  ],
])("%s is refused exactly as by a publish", async (_what, component) => {
  const validated = await app.post(path, component);
  const published = await app.post(publishPath, component);

  const told = ({ status, body }: typeof validated) => {
    const { errors, code, detail } = body as Record<string, unknown>;
    return { status, errors, code, detail };
  };
  expect(validated.status).toBe(400);
  expect(told(validated)).toEqual(told(published));
});
