/** What a start says about the addresses that its tasks may call. */
import { expect, test, vi } from "vitest";
import { createLog } from "../../src/log.ts";
import { eventually } from "../support/eventually.ts";
import { aFolder, startService } from "../support/start-cli.ts";
import { startRuntime } from "../support/start-runtime.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

test("on the embedded database tasks may call this machine, and the log says so", async () => {
  const service = await startService([], { cwd: await aFolder() });

  // The log is written behind the back of the greeting.
  await eventually(() =>
    expect(service.stdout()).toMatch(/"allow":\["loopback"\].*"EgressBeyondPublicAddresses"/),
  );
});

test.each([
  ["nothing but public addresses", [], "[]"],
  ["what is allowed", ["10.1.0.0/16", "*.internal"], '["10.1.0.0/16","*.internal"]'],
])("on a database of one's own they may call %s", async (_, allow, shown) => {
  let lines = "";
  const log = createLog({ level: "info", destination: { write: (line) => void (lines += line) } });

  await startRuntime({ log, settings: { "Egress.Allow": allow } });

  expect(lines).toMatch(/EgressBeyondPublicAddresses/);
  expect(lines).toContain(`"allow":${shown}`);
});
