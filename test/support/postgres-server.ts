/**
 * One embedded PostgreSQL for the whole test run, with a migrated template database that each test
 * file copies. Durability is off here: nobody needs a test's data after a power cut. The crash tests
 * start servers of their own.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import type { TestProject } from "vitest/node";
import { startEmbeddedPostgres } from "../../src/storage/embedded/embedded-postgres.ts";
import { migrate } from "../../src/storage/postgres/migrate.ts";

declare module "vitest" {
  interface ProvidedContext {
    postgresUrl: string;
  }
}

export const templateName = "millrace_template";

export async function setup(project: TestProject) {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-test-"));
  const server = await startEmbeddedPostgres({ dataDir, fsync: false });
  const client = new Client({ connectionString: server.url });
  await client.connect();
  await client.query(`create database ${templateName}`);
  await client.end();
  await migrate(databaseUrl(server.url, templateName));
  project.provide("postgresUrl", server.url);

  return async () => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
}

export function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
