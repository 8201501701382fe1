import { expect, test } from "vitest";
import { findFreePort } from "../../src/storage/embedded/free-port.ts";
import { eventually } from "../support/eventually.ts";
import { startRuntime } from "../support/start-runtime.ts";

test("whoever waits for /health finds the sample there, all of it", async () => {
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const starting = startRuntime({ settings: { "Runtime.Samples": "on", "Server.Port": port } });
  const statusOf = (path: string) => fetch(url + path).then(({ status }) => status);

  await eventually(async () => expect(await statusOf("/health")).toBe(200));

  const components = ["sys-mappings/instances/money", "sys-flows/instances/loan-application"];
  for (const component of components) {
    expect(await statusOf(`/api/v1/loans/workflows/${component}`)).toBe(200);
  }
  await starting;
});
