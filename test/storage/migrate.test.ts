import { Client } from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { StartRefusal } from "../../src/engine/start-refusal.ts";
import { StorageUnavailable } from "../../src/engine/storage-unavailable.ts";
import { migrate, migrationFiles, refuseOldServer } from "../../src/storage/postgres/migrate.ts";
import { aDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { databaseUrl } from "../support/postgres-server.ts";

async function run(url: string, ...statements: string[]): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    for (const sql of statements) await client.query(sql);
  } finally {
    await client.end();
  }
}

/** A role that may log in and nothing else, until it is granted more. */
async function aRole(database: string): Promise<{ name: string; url: string }> {
  const name = `r_${crypto.randomUUID().replaceAll("-", "")}`;
  await run(database, `create role ${name} login password 'plain'`);
  onTestFinished(() => run(database, `drop owned by ${name}`, `drop role ${name}`));
  const url = new URL(database);
  url.username = name;
  url.password = "plain";
  return { name, url: url.href };
}

const refusal = async (url: string): Promise<string> => {
  const error = await migrate(url).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(StartRefusal);
  return (error as Error).message;
};

test("many nodes at once on an empty database: one migrates, all come up", async () => {
  const url = await aDatabase({ empty: true });

  const results = await Promise.all([1, 2, 3, 4, 5].map(() => migrate(url)));

  expect(results.map(({ applied }) => applied).filter((names) => names.length > 0)).toEqual([
    migrationFiles(),
  ]);
});

test("a database that a newer Millrace has migrated is refused", async () => {
  const url = await aDatabase();
  await run(url, "insert into migration (name) values ('9999-the-future.sql')");

  expect(await refusal(url)).toBe(
    "The database was migrated by a newer Millrace (it has 9999-the-future.sql). Start that version, or restore an older database.",
  );
});

test.each([
  [140_012, "14.12 (Debian)", "PostgreSQL 14.12 (Debian); Millrace needs 15 or newer"],
  [90_624, "9.6.24", "PostgreSQL 9.6.24; Millrace needs 15 or newer"],
])("server version %i is refused by its name", (number, version, message) => {
  expect(() => refuseOldServer(number, version)).toThrow(StartRefusal);
  expect(() => refuseOldServer(number, version)).toThrow(message);
});

test.each([150_000, 150_004, 180_004])("server version %i is taken", (number) => {
  expect(() => refuseOldServer(number, "15 or newer")).not.toThrow();
});

test("a wrong password and an unknown user are refused in the server's words", async () => {
  const url = new URL(inject("postgresUrl"));
  url.password = "guess";
  expect(await refusal(url.href)).toMatch(/refuses the login .*failed for user "millrace"/);

  url.username = "stranger";
  expect(await refusal(url.href)).toMatch(/refuses the login .*failed for user "stranger"/);
});

test("an address without the password that the server asks for is refused", async () => {
  const url = new URL(inject("postgresUrl"));
  url.password = "";

  expect(await refusal(url.href)).toMatch(/asks for a password, and DATABASE_URL has none/);
});

test("a database that does not exist is refused by its name", async () => {
  const url = databaseUrl(inject("postgresUrl"), "no_such_database");

  expect(await refusal(url)).toMatch(/is missing \(database "no_such_database" does not exist\)/);
});

test("a role that may not create tables is refused with the remedy, and nothing is left half-done", async () => {
  const database = await aDatabase({ empty: true });
  const role = await aRole(database);

  expect(await refusal(role.url)).toMatch(
    /lacks a right \(permission denied for schema public\)\. Grant it usage and create/,
  );
  expect((await migrate(database)).applied).toEqual(migrationFiles());
});

test("a role that may not create tables is enough for a database that is up to date", async () => {
  const database = await aDatabase();
  const role = await aRole(database);
  await run(database, `grant select on migration to ${role.name}`);

  expect((await migrate(role.url)).applied).toEqual([]);
});

test("a database that may only be read is refused", async () => {
  const url = await aDatabase({ empty: true });
  const name = new URL(url).pathname.slice(1);
  await run(url, `alter database ${name} set default_transaction_read_only = on`);

  expect(await refusal(url)).toMatch(/may only be read .* primary server, not to a standby/);
});

test("encryption that the server does not offer, and a certificate file that is not there, are refused", async () => {
  const url = inject("postgresUrl");

  expect(await refusal(`${url}?sslmode=require`)).toMatch(
    /encrypted connection .*does not support/,
  );
  expect(await refusal(`${url}?sslrootcert=/no/such/file.pem`)).toMatch(
    /DATABASE_URL cannot be used \(ENOENT: .*\/no\/such\/file\.pem/,
  );
});

test("a server that is not there is waited for by the caller, not refused", async () => {
  for (const url of [
    "postgres://me:pw@127.0.0.1:1/db",
    "postgres://me:pw@no-such-host.invalid/db",
    "postgres://me:pw@/db?host=/no/such/folder",
  ]) {
    await expect(migrate(url)).rejects.toThrow(StorageUnavailable);
  }
});

test("waiting for another node's migration ends when the start is given up", async () => {
  const url = await aDatabase();
  const other = new Client(url);
  await other.connect();
  onTestFinished(() => other.end());
  await other.query("select pg_advisory_lock(x'6d696c6c'::int)");
  const givenUp = new AbortController();

  const waiting = expect(migrate(url, givenUp.signal)).rejects.toThrow(StorageUnavailable);
  await eventually(async () => {
    const { rows } = await other.query(
      `select from pg_locks where locktype = 'advisory' and not granted
         and database = (select oid from pg_database where datname = current_database())`,
    );
    expect(rows).not.toEqual([]);
  });
  givenUp.abort();

  await waiting;
});

test("a start that is given up while it connects does not wait for another node's migration", async () => {
  const url = await aDatabase();
  const other = new Client(url);
  await other.connect();
  onTestFinished(() => other.end());
  await other.query("select pg_advisory_lock(x'6d696c6c'::int)");

  await expect(migrate(url, AbortSignal.abort())).rejects.toThrow(StorageUnavailable);
});
