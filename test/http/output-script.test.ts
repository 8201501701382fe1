import { describe, expect, test } from "vitest";
import { aWorkflow } from "../support/a-workflow.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile({ settings: { "Scripting.TimeoutMs": 5000 } });
const script = (code: string) => ({
  type: "L",
  encoding: "B64",
  location: "./output.ts",
  code: Buffer.from(code).toString("base64"),
});
let count = 0;

/** Publishes a workflow with this output script and starts an instance of it. */
async function startWith(code: string, query = "sync=true") {
  count += 1;
  const key = `output-${count}`;
  await app.publish(
    aWorkflow(key)
      .state("open")
      .transition("go", { to: "open" })
      .with({ output: script(code) }),
  );
  return app.post(`/api/v1/core/workflows/${key}/instances/start?${query}`, {
    key: "K-1",
    attributes: { amount: 5 },
  });
}

test("the script's body, status, headers and content type are the response", async () => {
  const answer = await startWith(`
    import { ScriptBase, type ScriptContext, type ScriptResponse } from "millrace/script";
    export default class Output extends ScriptBase {
      OutputHandler(context: ScriptContext): ScriptResponse {
        return {
          Data: { order: context.Instance!.Key, amount: context.Instance!.Data.amount },
          StatusCode: 201,
          Headers: { "X-Order": "17", "Content-Type": "application/vnd.order+json" },
        };
      }
    }`);

  expect(answer).toMatchObject({ status: 201, text: '{"order":"K-1","amount":5}' });
  expect(answer.headers).toMatchObject({
    "x-order": "17",
    "content-type": "application/vnd.order+json",
  });
});

test("without a content type it is exactly application/json", async () => {
  const answer = await startWith(`export const OutputHandler = () => ({ data: [1, 2] });`);

  expect(answer).toMatchObject({ status: 200, text: "[1,2]" });
  expect(answer.headers["content-type"]).toBe("application/json");
});

test("an empty body with its own status and headers is valid", async () => {
  const answer = await startWith(
    `export const OutputHandler = () => ({ StatusCode: 204, Headers: { "x-done": "yes" } });`,
  );

  expect(answer).toMatchObject({ status: 204, text: "" });
  expect(answer.headers["x-done"]).toBe("yes");
});

test("a transition that is waited for is answered by the script too", async () => {
  await startWith(
    `export const OutputHandler = ({ Transition, Body }) => ({ Data: { by: Transition.Key, Body } });`,
  );

  const answer = await app.patch(
    `/api/v1/core/workflows/output-${count}/instances/K-1/transitions/go?sync=true`,
    { attributes: { note: "x" } },
  );

  expect(answer.body).toEqual({ by: "go", Body: { note: "x" } });
});

test("with sync=false the answer is id, key and status", async () => {
  const answer = await startWith(`export const OutputHandler = () => ({ Data: 1 });`, "sync=false");

  expect(answer.status).toBe(202);
  expect(Object.keys(answer.body as object).toSorted()).toEqual(["id", "key", "status"]);
});

describe("the standard envelope is the answer when the script", () => {
  test.each([
    ["throws", `export const OutputHandler = () => { throw new Error("no"); };`],
    ["never ends", `export const OutputHandler = () => { for (;;); };`],
    ["answers no status", `export const OutputHandler = () => ({ StatusCode: 99 });`],
    [
      "would split the response",
      `export const OutputHandler = () => ({ Headers: { "x-a": "1\\r\\nset-cookie: b=1" } });`,
    ],
    [
      "names a header that is none",
      `export const OutputHandler = () => ({ Headers: { "x a": "1" } });`,
    ],
  ])("%s", async (_, code) => {
    const answer = await startWith(code);

    expect(answer).toMatchObject({ status: 200, body: { key: "K-1", status: "A" } });
    expect(answer.headers["set-cookie"]).toBeUndefined();
  });
});

test("of an instance that has faulted the envelope is the answer, which shows the fault", async () => {
  await app.publish(
    aWorkflow("output-of-fault")
      .start("begin", { mapping: script(`export const Handler = () => { throw "no"; };`) })
      .state("open")
      .with({ output: script(`export const OutputHandler = () => ({ StatusCode: 201 });`) }),
  );

  const answer = await app.post(
    "/api/v1/core/workflows/output-of-fault/instances/start?sync=true",
    {},
  );

  expect(answer).toMatchObject({ status: 200, body: { status: "F" } });
});

test("headers of the connection are not the script's to set", async () => {
  const answer = await startWith(
    `export const OutputHandler = () => ({ Data: "abc", Headers: { "Content-Type": "text/plain", "Content-Length": "1", "Transfer-Encoding": "x" } });`,
  );

  expect(answer).toMatchObject({ status: 200, text: "abc" });
});
