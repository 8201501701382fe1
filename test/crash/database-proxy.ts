/** Stands between a node and its database, and loses answers when the test says so. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { AtEnd } from "./at-end.ts";

export interface DatabaseProxy {
  /** The database, through the proxy. */
  url: string;
  /** What is asked at the moment is done, but nobody hears of it: the connections break instead. */
  loseAnswers(): Promise<void>;
}

export async function startDatabaseProxy(
  databaseUrl: string,
  atEnd: AtEnd,
): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const pairs = new Set<{ near: Socket; far: Socket }>();
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    const pair = { near, far };
    pairs.add(pair);
    const end = () => {
      near.destroy();
      far.destroy();
      pairs.delete(pair);
    };
    for (const socket of [near, far]) socket.on("error", end).on("close", end);
    near.pipe(far);
    far.pipe(near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(async () => {
    for (const { near } of pairs) near.destroy();
    server.close();
    await once(server, "close");
  });
  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    async loseAnswers() {
      const cut = [...pairs];
      for (const { near, far } of cut) far.unpipe(near).resume();
      await sleep(30);
      for (const { near } of cut) near.destroy();
    },
  };
}
