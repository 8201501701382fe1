/**
 * A Millrace process in miniature, for tests that kill it or run it as somebody else:
 * `start <folder>`, `lock <folder>` or `binaries <folder> <package folder>`. Says what happened in one
 * line of JSON, then lives until its standard input ends.
 */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { lockDataFolder } from "../../src/storage/embedded/data-folder-lock.ts";
import { startEmbeddedPostgres } from "../../src/storage/embedded/embedded-postgres.ts";
import { prepareNativeBinaries } from "../../src/storage/embedded/native-binaries.ts";

const [command = "", folder = "", packageDir = ""] = process.argv.slice(2);
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
let stop = async () => {};

try {
  switch (command) {
    case "start": {
      const server = await startEmbeddedPostgres({ dataDir: folder, fsync: false });
      stop = () => server.stop();
      // As when somebody presses Ctrl-C: what is under way must still find its database.
      process.once("SIGINT", () => void sleep(300).then(() => query(server.url).then(say)));
      say({ pid: server.pid, url: server.url });
      break;
    }
    case "lock": {
      const lock = await lockDataFolder(folder);
      stop = () => lock.release();
      say({ owner: process.pid });
      break;
    }
    case "binaries": {
      const pkg = { name: "the test's own", version: "1", dir: packageDir };
      say(await prepareNativeBinaries({ dataDir: folder, user: undefined, package: pkg }));
      break;
    }
  }
} catch (error) {
  const { name, message } = error as Error;
  say({ refusal: name === "StartRefusal" ? message : `not a refusal: ${name} ${message}` });
}
await once(process.stdin.resume(), "end");
await stop();

async function query(url: string): Promise<object> {
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query<{ answer: number }>("select 42 as answer");
  await client.end();
  return rows[0]!;
}
