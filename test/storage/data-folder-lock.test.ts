import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, expect, test } from "vitest";
import { StartRefusal } from "../../src/engine/start-refusal.ts";
import { lockDataFolder } from "../../src/storage/embedded/data-folder-lock.ts";
import { startChild } from "./embedded-postgres-child-process.ts";

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-lock-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test("a folder that is in use is refused, with the process that uses it and the remedy", async () => {
  const folder = await aFolder();
  await lockDataFolder(folder);

  const second = lockDataFolder(folder);

  await expect(second).rejects.toThrow(StartRefusal);
  await expect(second).rejects.toThrow(
    `The data folder ${folder} is in use by the Millrace process ${process.pid}; stop it or choose another folder with MILLRACE_DATA_DIR.`,
  );
});

test("a released folder can be locked again, and only the last lock file stays", async () => {
  const folder = await aFolder();
  await (await lockDataFolder(folder)).release();

  const again = await lockDataFolder(folder);

  expect(await readdir(folder)).toEqual(["lock.2"]);
  await again.release();
});

test("the lock of a dead process is taken over", async () => {
  const folder = await aFolder();
  const dead = spawn("true");
  await new Promise((done) => dead.once("exit", done));
  await writeFile(join(folder, "lock.7"), JSON.stringify({ pid: dead.pid, started: "then" }));

  await lockDataFolder(folder);

  expect(await readdir(folder)).toEqual(["lock.8"]);
});

test("a lock whose process number now belongs to somebody else is taken over", async () => {
  const folder = await aFolder();
  await writeFile(join(folder, "lock.1"), JSON.stringify({ pid: process.pid, started: "earlier" }));

  await lockDataFolder(folder);

  expect(await readdir(folder)).toEqual(["lock.2"]);
});

test("a lock file that a power cut left empty is taken over", async () => {
  const folder = await aFolder();
  await writeFile(join(folder, "lock.1"), "");

  await lockDataFolder(folder);

  expect(await readdir(folder)).toEqual(["lock.2"]);
});

test("of many attempts at once on a stale lock exactly one wins", async () => {
  const folder = await aFolder();
  for (let round = 1; round <= 50; round += 1) {
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => lockDataFolder(folder)),
    );

    const won = results.filter((result) => result.status === "fulfilled");
    expect(won).toHaveLength(1);
    await won[0]!.value.release();
  }
});

test("of several processes that start at once on a stale lock exactly one wins", async () => {
  const folder = await aFolder();
  await writeFile(join(folder, "lock.3"), JSON.stringify({ pid: process.pid, started: "earlier" }));

  const children = Array.from({ length: 4 }, () => startChild(["lock", folder]));
  const answers = await Promise.all(children.map((child) => child.line()));

  const owners = answers.filter((answer) => "owner" in answer);
  expect(owners).toHaveLength(1);
  expect(answers.filter((answer) => "refusal" in answer)).toHaveLength(3);
  const [name = ""] = await readdir(folder);
  expect(JSON.parse(await readFile(join(folder, name), "utf8"))).toMatchObject({
    pid: owners[0]!["owner"],
  });
});
