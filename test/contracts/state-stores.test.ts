/** Each kind of state store, held to the same contract; and what is each one's own. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createClient } from "@redis/client";
import { daprSidecar } from "../../src/outgoing/dapr-sidecar.ts";
import { openHttpClient } from "../../src/outgoing/open-http-client.ts";
import { openDatabase, type Database } from "../../src/storage/postgres/database.ts";
import { createPostgresStateStore } from "../../src/storage/postgres/postgres-state-store.ts";
import { sweepStateEntries } from "../../src/storage/postgres/sweep-state-entries.ts";
import { readStateQuery } from "../../src/storage/state-filter.ts";
import { createDaprStateStore } from "../../src/storage/state-stores/dapr-state-store.ts";
import { createMemoryStateStore } from "../../src/storage/state-stores/memory-state-store.ts";
import {
  openStateStores,
  type StateStoresOptions,
} from "../../src/storage/state-stores/open-state-stores.ts";
import { createRedisStateStore } from "../../src/storage/state-stores/redis-state-store.ts";
import { createDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startFakeDaprState, type FakeDaprState } from "../support/fake-dapr-state.ts";
import { aRedisServer, hasRedis } from "../support/redis-server.ts";
import { stateStoreContract } from "./state-store-contract.ts";

const anyFilter = readStateQuery({ filter: { EQ: { a: 1 } } });

// Memory

stateStoreContract("memory", async () => {
  let now = 0;
  const store = createMemoryStateStore({ now: () => now });
  return {
    store,
    advance: (ms) => {
      now += ms;
    },
    close: () => store.close(),
  };
});

test("an entry in memory ends in the very millisecond", async () => {
  let now = 0;
  const store = createMemoryStateStore({ now: () => now });
  await store.set("custom:a", 1, { ttlSeconds: 5 });

  now = 4999;
  expect(await store.get("custom:a")).toMatchObject({ value: 1 });
  now = 5000;
  expect(await store.get("custom:a")).toBeUndefined();
  await store.close();
});

test("a full memory forgets what was used least recently", async () => {
  const store = createMemoryStateStore({ now: () => 0, largest: 1000 });
  const value = "x".repeat(300);
  await store.set("one", value);
  await store.set("two", value);
  await store.set("three", value);
  await store.get("one");

  await store.set("four", value);

  expect(await store.get("two")).toBeUndefined();
  expect(await store.get("one")).toMatchObject({ value });
  expect(await store.get("four")).toMatchObject({ value });
  await store.close();
});

// PostgreSQL

async function openTestDatabase() {
  const { url, drop } = await createDatabase();
  const database = openDatabase({ url, poolSize: 4, statementTimeoutMs: 10_000 });
  const close = async () => {
    await database.close();
    await drop();
  };
  return { database, close };
}

stateStoreContract("PostgreSQL", async () => {
  const { database, close } = await openTestDatabase();
  return {
    store: createPostgresStateStore(database, "main"),
    advance: async (ms) => {
      await database.query(
        "update state_entry set expires_at = expires_at - make_interval(secs => $1)",
        [ms / 1000],
      );
    },
    close,
  };
});

describe("PostgreSQL", () => {
  let database: Database;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ database, close } = await openTestDatabase());
  });
  afterAll(() => close());

  test("the end of an entry is exact by the database's clock", async () => {
    await createPostgresStateStore(database, "exact").set("custom:a", 1, { ttlSeconds: 90 });

    expect(
      await database.query(
        `select expires_at = written_at + interval '90 seconds' as exact from state_entry
         where store = 'exact'`,
      ),
    ).toEqual([{ exact: true }]);
  });

  test("stores of one database are apart", async () => {
    const [one, two] = ["one", "two"].map((name) => createPostgresStateStore(database, name));
    await one!.set("custom:a", { a: 1 });
    await two!.set("custom:a", { a: 1 });

    await one!.delete("custom:a");
    await one!.deleteMany(["custom:a"]);
    expect(await one!.deleteMatching("custom:", anyFilter)).toBe(0);

    expect(await two!.get("custom:a")).toMatchObject({ value: { a: 1 } });
  });

  test("the sweep takes expired entries out of the table, and only those", async () => {
    const store = createPostgresStateStore(database, "swept");
    for (const key of ["a", "b", "c"]) await store.set(key, 1, { ttlSeconds: 60 });
    await store.set("d", 1, { ttlSeconds: 3600 });
    await store.set("e", 1);
    await database.query(
      "update state_entry set expires_at = now() - interval '1 second' where key in ('a', 'b', 'c')",
    );

    expect(await sweepStateEntries(database)).toBe(3);

    expect(
      await database.query("select key from state_entry where store = 'swept' order by key"),
    ).toEqual([{ key: "d" }, { key: "e" }]);
  });
});

// Redis

describe.skipIf(!hasRedis())("Redis", () => {
  stateStoreContract(
    "Redis",
    async () => {
      const redis = await aRedisServer();
      await redis.start();
      const { url } = redis;
      const client = createClient({ url });
      await client.connect();
      const store = createRedisStateStore({ url, name: "main", timeoutMs: 5000, onTrouble() {} });
      return {
        store,
        async advance(ms) {
          for (const key of await client.keys("*")) {
            const left = await client.pTTL(key);
            if (left > 0) await client.pExpire(key, left - ms);
          }
        },
        async close() {
          await store.close();
          client.destroy();
          await redis.kill();
        },
      };
    },
    { cannotSearch: true },
  );

  const aStore = async ({ timeoutMs = 5000, started = true } = {}) => {
    const redis = await aRedisServer();
    if (started) await redis.start();
    const troubles: string[] = [];
    const store = createRedisStateStore({
      url: redis.url,
      name: "main",
      timeoutMs,
      onTrouble: (event) => troubles.push(event),
    });
    onTestFinished(async () => {
      await store.close();
      redis.resume();
      await redis.kill();
    });
    return { redis, store, troubles };
  };

  test("the end of an entry is exact by the server's clock", async () => {
    const { redis, store } = await aStore();
    const client = createClient({ url: redis.url });
    await client.connect();
    await store.set("custom:a", 1, { ttlSeconds: 90 });

    const left = await client.pTTL("main||custom:a");

    expect(left).toBeLessThanOrEqual(90_000);
    expect(left).toBeGreaterThan(60_000);
    client.destroy();
  });

  test("a search by value says what to do instead", async () => {
    const { store } = await aStore();

    await expect(store.deleteMatching("custom:", anyFilter)).rejects.toMatchObject({
      reason: "unsupported",
      message: expect.stringContaining("Delete by 'key' or 'keys'") as string,
    });
  });

  test("a server that is not there fails clearly, and is used once it is", async () => {
    const { redis, store, troubles } = await aStore({ started: false });

    await expect(store.get("custom:a")).rejects.toMatchObject({
      name: "StateStoreFailed",
      reason: "unavailable",
      message: expect.stringMatching(
        /^The state store 'main' does not answer \(.*ECONNREFUSED.*\)\. Check its Redis server/,
      ) as string,
    });
    expect(troubles).toEqual(["StateStoreLost"]);
    await redis.start();

    await eventually(() => store.set("custom:a", 1));
    expect(await store.get("custom:a")).toMatchObject({ value: 1 });
  });

  test("a server that dies and comes back is found again", async () => {
    const { redis, store, troubles } = await aStore();
    await store.set("custom:a", 1);
    await redis.kill();

    await expect(store.get("custom:a")).rejects.toMatchObject({ reason: "unavailable" });
    await redis.start();

    await eventually(async () => expect(await store.get("custom:a")).toBeUndefined());
    expect(troubles).toEqual(["StateStoreLost"]);
  });

  test("a server that has gone silent is a failure, and does not hold up the end", async () => {
    const { redis, store } = await aStore({ timeoutMs: 3000 });
    await store.set("custom:a", 1);
    redis.pause();

    await expect(store.get("custom:a")).rejects.toMatchObject({ reason: "unavailable" });

    await store.close();
    await expect(store.get("custom:a")).rejects.toMatchObject({ reason: "unavailable" });
  });

  test("a key that is something else is refused by the server, not taken for a miss", async () => {
    const { redis, store } = await aStore();
    const client = createClient({ url: redis.url });
    await client.connect();
    await client.set("main||custom:text", "plain");

    await expect(store.get("custom:text")).rejects.toMatchObject({
      reason: "refused",
      message: expect.stringContaining("WRONGTYPE") as string,
    });
    client.destroy();
  });
});

// Dapr

const openDapr = async () => {
  const fake = await startFakeDaprState();
  const http = openHttpClient();
  const dapr = daprSidecar(http, { endpoint: `${fake.url}/`, apiToken: "t0ken" })!;
  const store = createDaprStateStore({ dapr, component: "main", name: "cache", timeoutMs: 5000 });
  const close = async () => {
    await http.close();
    await fake.close();
  };
  return { fake, store, close };
};

stateStoreContract(
  "Dapr",
  async () => {
    const { fake, store, close } = await openDapr();
    return { store, advance: (ms) => fake.advance(ms), close };
  },
  { tellsNoEtag: true, namesNoWrites: true },
);

describe("Dapr", () => {
  const aSidecar = async (): Promise<Awaited<ReturnType<typeof openDapr>>> => {
    const opened = await openDapr();
    onTestFinished(() => opened.close());
    return opened;
  };
  const sent = (fake: FakeDaprState) => fake.requests.at(-1);

  test("requests carry the token, the options and the metadata as the API names them", async () => {
    const { fake, store } = await aSidecar();

    await store.set("custom:a/b", 1, {
      ttlSeconds: 60,
      when: { etag: "7" },
      consistency: "strong",
      metadata: { partitionKey: "p" },
    });
    expect(sent(fake)).toMatchObject({
      method: "POST",
      path: "/v1.0/state/main",
      headers: { "dapr-api-token": "t0ken", "content-type": "application/json" },
    });
    expect(JSON.parse(sent(fake)!.body)).toEqual([
      {
        key: "custom:a/b",
        value: 1,
        etag: "7",
        metadata: { partitionKey: "p", ttlInSeconds: "60" },
        options: { concurrency: "first-write", consistency: "strong" },
      },
    ]);

    await store.get("custom:a/b", { consistency: "strong" });
    expect(sent(fake)?.path).toBe("/v1.0/state/main/custom%3Aa%2Fb?consistency=strong");

    await store.delete("custom:a", { metadata: { partitionKey: "p" } });
    expect(sent(fake)).toMatchObject({
      method: "DELETE",
      path: "/v1.0/state/main/custom%3Aa?metadata.partitionKey=p",
    });
  });

  test.each([
    [500, "unavailable"],
    [503, "unavailable"],
    [400, "refused"],
    [403, "refused"],
  ])("a sidecar that answers %i is %s, with its own words", async (status, reason) => {
    const { fake, store } = await aSidecar();
    fake.answerWith = { status, body: `{"errorCode":"ERR","message":"component is missing"}` };

    await expect(store.get("custom:a")).rejects.toMatchObject({
      reason,
      message: `The Dapr sidecar behind the state store 'cache' answers ${status}: component is missing`,
    });
  });

  test("a sidecar that is away is unavailable", async () => {
    const { fake, store } = await aSidecar();
    await fake.close();

    await expect(store.get("custom:a")).rejects.toMatchObject({ reason: "unavailable" });
  });

  test("a component without queries says what to do instead", async () => {
    const { fake, store } = await aSidecar();
    fake.answerWith = { status: 500, body: `{"message":"state store does not support querying"}` };

    await expect(store.deleteMatching("custom:", anyFilter)).rejects.toMatchObject({
      reason: "unsupported",
      message: expect.stringContaining("otherwise delete by 'key' or 'keys'") as string,
    });
  });

  test("what is not JSON is told, not taken for a value", async () => {
    const { fake, store } = await aSidecar();
    fake.answerWith = { status: 200, body: "not json" };

    await expect(store.get("custom:a")).rejects.toMatchObject({ reason: "refused" });
  });
});

// All of them

describe("the configured stores", () => {
  const open = (options: Partial<StateStoresOptions>) =>
    openStateStores({
      stores: ["main=memory"],
      defaultName: "main",
      database: { query: () => Promise.resolve([]) },
      dapr: undefined,
      timeoutMs: 1000,
      onTrouble() {},
      ...options,
    });

  test("are found by name", async () => {
    const stores = open({ stores: ["main=memory", "other=postgres"] });

    expect(stores.names).toEqual(["main", "other"]);
    expect(stores.find("other")).toBeDefined();
    expect(stores.find("else")).toBeUndefined();
    await stores.close();
  });

  test.each([
    [
      "a default that is none of them",
      { defaultName: "cache" },
      "StateStore.Name is 'cache', which StateStore.Stores does not have; it has main. Name one of these, or add 'cache=postgres'.",
    ],
    [
      "a name twice",
      { stores: ["main=memory", "main=postgres"] },
      "StateStore.Stores has 'main' twice. Give each store a name of its own.",
    ],
    [
      "a Dapr component without a sidecar",
      { stores: ["main=memory", "cache=dapr:redis"] },
      "StateStore.Stores has 'cache=dapr:redis', which needs a sidecar. Set Dapr.HttpEndpoint, such as http://127.0.0.1:3500.",
    ],
  ])("%s stops the start", (_, options, message) => {
    expect(() => open(options)).toThrow(message);
  });
});
