import { describe, expect, test } from "vitest";
import { aComponent, aWorkflow } from "../support/a-workflow.ts";
import { startRuntime, startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();

const path = (key: string, version?: string) =>
  `/api/v1/core/workflows/sys-tasks/instances/${key}${version === undefined ? "" : `?version=${encodeURIComponent(version)}`}`;
const task = (key: string, version: string, tags: string[] = []) =>
  aComponent("sys-tasks", key, { type: "7", config: { of: version } }, { version, tags });
const ulid = /^"[0-9A-HJKMNP-TV-Z]{26}"$/;

test("a definition is an instance of its system flow", async () => {
  await app.publish(aWorkflow("loan").tags("retail").state("draft").version("1.2.0"));

  const answer = await app.get("/api/v1/core/workflows/sys-flows/instances/loan");

  expect(answer.status).toBe(200);
  expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
  const { id, eTag, entityEtag } = answer.body as Record<string, string>;
  expect(answer.body).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    key: "loan",
    flow: "sys-flows",
    domain: "core",
    flowVersion: "1.0.0",
    eTag: expect.stringMatching(/^"[\w-]{43}"$/),
    entityEtag: expect.stringMatching(ulid),
    tags: ["retail"],
    metadata: {
      currentState: "active",
      effectiveState: "active",
      status: "A",
      effectiveStateType: "intermediate",
      effectiveStateSubType: "none",
      currentStateType: "intermediate",
      currentStateSubType: "none",
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      modifiedAt: expect.any(String),
      incident: {
        hasActiveIncident: false,
        history: { href: `/api/v1/core/workflows/sys-flows/instances/${id}/incidents` },
      },
    },
    attributes: aWorkflow("loan").state("draft").build().attributes,
    extensions: {},
  });
  expect(answer.headers).toMatchObject({ etag: eTag, "x-entity-etag": entityEtag });
});

describe("the version", () => {
  const published = [
    "1.0.0",
    "1.2.0",
    "1.2.10",
    "1.2.9",
    "1.10.0-beta.1",
    "2.0.0-pkg.1.0.0+hr",
    "2.0.0-pkg.1.10.0+hr",
    "2.0.0-pkg.1.9.0+hr",
  ];
  const ready = app.publish(...published.map((version) => task("versioned", version)));

  test.each([
    [undefined, "2.0.0-pkg.1.10.0+hr"],
    ["", "2.0.0-pkg.1.10.0+hr"],
    ["latest", "2.0.0-pkg.1.10.0+hr"],
    ["1.0.0", "1.0.0"],
    ["1.2", "1.2.10"],
    ["1", "1.10.0-beta.1"],
    ["2", "2.0.0-pkg.1.10.0+hr"],
    ["2.0.0", "2.0.0-pkg.1.10.0+hr"],
    ["2.0.0-pkg.1.9.0", "2.0.0-pkg.1.9.0+hr"],
    ["2.0.0-pkg.1.9.0+hr", "2.0.0-pkg.1.9.0+hr"],
  ])("%s is found as %s", async (wanted, found) => {
    await ready;

    const answer = await app.get(path("versioned", wanted));

    expect(answer.body).toMatchObject({ attributes: { config: { of: found } } });
  });

  test("may hold a plus that is not encoded", async () => {
    await ready;

    const answer = await app.get(`${path("versioned")}?version=2.0.0-pkg.1.0.0+hr`);

    expect(answer.body).toMatchObject({ attributes: { config: { of: "2.0.0-pkg.1.0.0+hr" } } });
  });

  test.each(["3", "1.0.1", "2.0.0-pkg.1.9.0+it", "nonsense", "x".repeat(181)])(
    "%s is not found",
    async (wanted) => {
      await ready;

      expect(await app.get(path("versioned", wanted))).toMatchObject({
        status: 404,
        body: { errorCode: "notfound.Instance:100013" },
      });
    },
  );
});

test("a definition is found by the id of its record, in its own domain and flow only", async () => {
  await app.publish(task("by-id", "1.0.0"), task("by-id", "1.1.0"));
  const { id } = (await app.get(path("by-id"))).body as { id: string };

  const latest = await app.get(path(id));
  const older = await app.get(path(id.toUpperCase(), "1.0.0"));
  const inOtherFlow = await app.get(`/api/v1/core/workflows/sys-views/instances/${id}`);
  const inOtherDomain = await app.get(`/api/v1/hr/workflows/sys-tasks/instances/${id}`);

  expect(latest.body).toMatchObject({ id, key: "by-id", attributes: { config: { of: "1.1.0" } } });
  expect(older.body).toMatchObject({ id, attributes: { config: { of: "1.0.0" } } });
  expect([inOtherFlow.status, inOtherDomain.status]).toEqual([404, 404]);
});

test("a key that looks like an id is a key all the same", async () => {
  const key = "0190a5b1-0000-7000-8000-000000000001";
  await app.publish(task(key, "1.0.0"));

  expect(await app.get(path(key))).toMatchObject({ status: 200, body: { key } });
});

test("what does not exist is a problem with the code of reads", async () => {
  const answer = await app.get(path("nothing"));

  expect(answer).toMatchObject({
    status: 404,
    body: {
      type: "https://httpstatuses.com/404/notfound/Instance/100013",
      code: "Instance:100013",
      instance: path("nothing"),
    },
  });
});

describe("a conditional read", () => {
  const ready = app.publish(task("conditional", "1.0.0"));
  const tagOf = async () => (await app.get(path("conditional"))).headers["etag"] ?? "";

  test.each([
    ["the tag", (tag: string) => tag],
    ["the weak tag", (tag: string) => `W/${tag}`],
    ["the tag without quotes", (tag: string) => tag.slice(1, -1)],
    ["a list with the tag", (tag: string) => `"a,b", W/"x", ${tag}`],
    ["a star", () => "*"],
  ])("that names %s is answered 304 without a body", async (_, header) => {
    await ready;
    const etag = await tagOf();

    const answer = await app.get(path("conditional"), { "if-none-match": header(etag) });

    expect(answer).toMatchObject({ status: 304, text: "" });
    expect(answer.headers).toMatchObject({ etag, "x-entity-etag": expect.stringMatching(ulid) });
  });

  test("that names another tag is answered in full", async () => {
    await ready;

    const answer = await app.get(path("conditional"), { "if-none-match": '"other"' });

    expect(answer.status).toBe(200);
  });

  test("sees a new version, and sees the old one change with its record", async () => {
    await app.publish(task("moving", "1.0.0", ["a"]));
    const before = await app.get(path("moving"));
    const same = await app.get(path("moving"));
    await app.publish(task("moving", "1.1.0", ["b"]));

    const latest = await app.get(path("moving"));
    const old = await app.get(path("moving", "1.0.0"));

    expect(same.headers["etag"]).toBe(before.headers["etag"]);
    expect(latest.headers["etag"]).not.toBe(before.headers["etag"]);
    expect(latest.headers["x-entity-etag"]).not.toBe(before.headers["x-entity-etag"]);
    // The record has the tags of all versions, so the old version reads differently now.
    expect(old.body).toMatchObject({ tags: ["a", "b"], attributes: { config: { of: "1.0.0" } } });
    expect(old.headers["etag"]).not.toBe(before.headers["etag"]);
    expect(old.headers["x-entity-etag"]).toBe(before.headers["x-entity-etag"]);
  });
});

test("a runtime that serves one domain refuses reads of others", async () => {
  const core = await startRuntime({ settings: { "Runtime.Domain": "core" } });
  await core.publish(task("own", "1.0.0"));

  const own = await core.get(path("own"));
  const other = await core.get("/api/v1/hr/workflows/sys-tasks/instances/own");
  const list = await core.get("/api/v1/hr/workflows/sys-tasks/instances");

  expect(own.status).toBe(200);
  for (const answer of [other, list]) {
    expect(answer).toMatchObject({ status: 400, body: { code: "Instance:100001" } });
  }
});
