import { Client } from "pg";
import { inject, onTestFinished } from "vitest";
import { databaseUrl, templateName } from "./postgres-server.ts";

export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

/** A fresh database with the product's schema; `empty` leaves the schema out. */
export async function createDatabase({ empty = false } = {}): Promise<TestDatabase> {
  const serverUrl = inject("postgresUrl");
  const name = `t_${crypto.randomUUID().replaceAll("-", "")}`;
  const template = empty ? "template0" : templateName;
  await onServer(serverUrl, `create database ${name} template ${template}`);
  return {
    url: databaseUrl(serverUrl, name),
    drop: () => onServer(serverUrl, `drop database if exists ${name} with (force)`),
  };
}

/** The same, dropped when the test ends. */
export async function aDatabase(options?: { empty?: boolean }): Promise<string> {
  const database = await createDatabase(options);
  onTestFinished(() => database.drop());
  return database.url;
}

async function onServer(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
