import { expect, test } from "vitest";
import { StorageUnavailable } from "./engine/storage-unavailable.ts";
import { createLog } from "./log.ts";
import { createTroubleLog } from "./log-trouble.ts";

function aTroubleLog() {
  const written: Record<string, unknown>[] = [];
  const log = createLog({
    level: "info",
    destination: { write: (line) => written.push(JSON.parse(line) as Record<string, unknown>) },
  });
  const clock = { ms: 0 };
  return { written, clock, trouble: createTroubleLog(log, () => clock.ms) };
}

const away = (reason: string) =>
  new StorageUnavailable("The database does not answer.", { cause: new Error(reason) });

test("a database that is away is told once of each kind, with its reason and no stack", () => {
  const { written, trouble } = aTroubleLog();

  for (let i = 0; i < 30; i += 1) {
    trouble("HeartbeatFailed", away("connect ECONNREFUSED 127.0.0.1:5432"));
    trouble("JobClaimFailed", away("connect ECONNREFUSED 127.0.0.1:5432"));
  }
  trouble("HeartbeatFailed", away("the database system is starting up"));

  const reason = "connect ECONNREFUSED 127.0.0.1:5432";
  expect(written).toMatchObject([
    { level: "warn", msg: "HeartbeatFailed", reason },
    { level: "warn", msg: "JobClaimFailed", reason },
    { level: "warn", msg: "HeartbeatFailed", reason: "the database system is starting up" },
  ]);
  expect(JSON.stringify(written)).not.toContain("stack");
});

test("trouble that lasts is told again every minute, with how often it happened meanwhile", () => {
  const { written, clock, trouble } = aTroubleLog();

  for (; clock.ms < 130_000; clock.ms += 1000) trouble("HeartbeatFailed", away("gone"));

  const lines = written.map(({ msg, timesSince }) => ({ msg, timesSince }));
  expect(lines).toEqual([
    { msg: "HeartbeatFailed", timesSince: undefined },
    { msg: "HeartbeatFailed", timesSince: 60 },
    { msg: "HeartbeatFailed", timesSince: 60 },
  ]);
});

test("what is no trouble with the database is written each time, with its stack", () => {
  const { written, trouble } = aTroubleLog();

  trouble("JobFailed", new TypeError("not a function"));
  trouble("JobFailed", new TypeError("not a function"));

  const line = { msg: "JobFailed", err: { type: "TypeError", message: "not a function" } };
  expect(written).toMatchObject([line, line]);
  expect(written).toMatchObject([{ err: { stack: expect.any(String) as string } }, {}]);
});
