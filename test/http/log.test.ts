import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { createLog, type Log } from "../../src/log.ts";
import { eventually } from "../support/eventually.ts";

function aLog(secrets: string[] = []): {
  log: Log;
  written: () => string;
  last: () => Record<string, unknown>;
} {
  const lines: string[] = [];
  const log = createLog({
    level: "trace",
    secrets,
    destination: { write: (line) => lines.push(line) },
  });
  return {
    log,
    written: () => lines.join(""),
    last: () => JSON.parse(lines.at(-1) ?? "null") as Record<string, unknown>,
  };
}

test("a line is one JSON object with level, time, service and the event's name", () => {
  const { log, last } = aLog();

  log.info({ instance: "i-1" }, "InstanceStarted");

  expect(last()).toEqual({
    level: "info",
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
    service: "millrace",
    instance: "i-1",
    msg: "InstanceStarted",
  });
});

test.each([
  "authorization",
  "Authorization",
  "proxy-authorization",
  "cookie",
  "Set-Cookie",
  "password",
  "PASSWORD",
  "token",
  "access_token",
  "secret",
  "clientSecret",
  "npmToken",
  "npm_password",
  "apiKey",
  "x-api-key",
  "privateKey",
  "DATABASE_URL",
])("what stands under '%s' is masked at any depth", (name) => {
  const { log, written } = aLog();

  log.info({ [name]: "s3cr3t" }, "Flat");
  log.info({ a: { b: [{ [name]: "s3cr3t" }] } }, "Deep");
  log.info({ [name]: { nested: ["s3cr3t"] } }, "Object");
  log.child({ [name]: "s3cr3t" }).info("Binding");
  log.error(Object.assign(new Error("failed"), { config: { headers: { [name]: "s3cr3t" } } }));

  expect(written()).not.toContain("s3cr3t");
  expect(written().match(/\*\*\*/g)?.length).toBeGreaterThanOrEqual(5);
});

test("names that only resemble a secret stay readable", () => {
  const { log, last } = aLog();

  log.info({ tokens: 5, tokenCount: 6, passwordLength: 7, key: "order", keys: ["a"] }, "Event");

  expect(last()).toMatchObject({
    tokens: 5,
    tokenCount: 6,
    passwordLength: 7,
    key: "order",
    keys: ["a"],
  });
});

test("a registered secret is masked wherever it turns up, in every spelling", () => {
  const secret = 'p"ss/wörd\\1';
  const { log, written } = aLog([secret]);

  log.info({ note: `it is ${secret}!` }, `and ${secret}`);
  log.info({ url: `http://a/?x=${encodeURIComponent(secret)}` }, "Encoded");
  log.info({ basic: Buffer.from(secret).toString("base64") }, "Base64");
  log.error(new Error(secret, { cause: new Error(secret) }));
  log.info({ map: new Map([["k", secret]]), set: new Set([secret]) }, "Containers");
  log.child({ note: secret }).info("Binding");

  expect(written()).not.toMatch(/wörd|w%C3%B6rd|cCJzcy/);
});

test.each([
  ["Authorization: Bearer eyJhbGciOi.abc-123_x", "eyJhbGciOi"],
  ["basic dXNlcjpwYXNz", "dXNlcjpwYXNz"],
  ["postgres://millrace:hunter22@db:5432/x", "hunter22"],
  ["redis://:hunter22@cache", "hunter22"],
  ["https://user:p:a:s@registry.example/x", "p:a:s"],
  ["connect failed: password=hunter22 host=db", "hunter22"],
  ['body {"npmToken":"hunter22"}', "hunter22"],
  ["?api_key=hunter22&x=1", "hunter22"],
])("a credential inside the text '%s' is masked", (text, credential) => {
  const { log, written } = aLog();

  log.info(text);
  log.info({ text }, "Event");
  log.error(new Error(text));
  log.info({ inner: JSON.stringify({ text }) }, "Twice");

  expect(written()).not.toContain(credential);
});

test("addresses without a password stay as they are", () => {
  const { log, last } = aLog();

  log.info({ url: "http://localhost:4201/api?x=a@b", time: "12:30@home" }, "Event");

  expect(last()).toMatchObject({ url: "http://localhost:4201/api?x=a@b", time: "12:30@home" });
});

test("an error keeps its type, message, stack, own members and causes", () => {
  const { log, last } = aLog();

  log.error(
    { err: new TypeError("outer", { cause: Object.assign(new Error("inner"), { code: "X1" }) }) },
    "Failed",
  );

  expect(last()).toMatchObject({
    level: "error",
    err: {
      type: "TypeError",
      message: "outer",
      stack: expect.stringContaining("log.test.ts") as string,
      cause: { type: "Error", message: "inner", code: "X1" },
    },
    msg: "Failed",
  });
});

test("cycles, deep trees, huge lists, buffers and bigints are written bounded", () => {
  const { log, last, written } = aLog();
  const cycle: Record<string, unknown> = { name: "a" };
  cycle["self"] = cycle;
  let deep: unknown = "bottom";
  for (let i = 0; i < 100; i += 1) deep = { deep };

  log.info(
    {
      cycle,
      deep,
      list: Array.from({ length: 50_000 }, (_, i) => i),
      bytes: Buffer.alloc(9),
      n: 5n,
    },
    "Odd",
  );

  expect(last()).toMatchObject({
    cycle: { name: "a", self: "[circular]" },
    bytes: "[9 bytes]",
    msg: "Odd",
  });
  expect(written()).toContain("[deep]");
  expect(written()).toContain("[cut: 50000 items]");
  expect(written().length).toBeLessThan(20_000);
});

test("a very long text is cut, and a secret near the cut is still masked", () => {
  const { log, written } = aLog(["hunter22"]);

  log.info({ text: `${"x".repeat(16_380)}hunter22` }, "Long");

  expect(written()).not.toContain("hunt");
});

test("what is logged is left as it was", () => {
  const { log } = aLog();
  const event = { headers: { authorization: "Bearer abcdefgh" }, __proto__: { inherited: 1 } };

  log.info(event, "Event");

  expect(event.headers.authorization).toBe("Bearer abcdefgh");
});

test("on a terminal an event is one line", async () => {
  let written = "";
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written += chunk.toString();
      done();
    },
  });
  const log = createLog({ level: "info", pretty: true, destination });

  log.info({ route: "/health", nested: { status: 200 } }, "RequestAnswered");

  await eventually(() => expect(written).toMatch(/RequestAnswered.*\/health.*200.*\n$/));
  expect(written.trimEnd()).not.toContain("\n");
});
