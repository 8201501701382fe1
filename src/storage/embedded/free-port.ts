import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/**
 * A port of the loopback address that is free at this moment. Below 32768, where Linux hands out the
 * local ends of outgoing connections: one of those could take the port before the server does. The
 * caller still has to try again when somebody is quicker.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 30_000);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen({ port, host: "127.0.0.1", exclusive: true }, () => {
      probe.close(() => resolve(true));
    });
  });
}
