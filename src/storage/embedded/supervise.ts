/**
 * Keeps the embedded server up: when it dies without having been asked (killed for memory, say), it
 * is started again on the same port, so that the connection pool heals by itself.
 */
import { setTimeout as delay } from "node:timers/promises";
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
} from "./embedded-postgres.ts";

export interface SupervisedPostgres {
  url: string;
  stop(): Promise<void>;
}

export interface SuperviseOptions extends EmbeddedPostgresOptions {
  onTrouble: (event: string, error: Error) => void;
}

const longestWaitMs = 10_000;

export async function superviseEmbedded(options: SuperviseOptions): Promise<SupervisedPostgres> {
  let server = await startEmbeddedPostgres(options);
  const { url, port } = server;
  const stopped = new AbortController();
  let restarting: Promise<void> = Promise.resolve();

  const watch = (watched: EmbeddedPostgres) => {
    void watched.exited.then(({ code, log }) => {
      if (stopped.signal.aborted) return;
      options.onTrouble("EmbeddedPostgresDied", new Error(`exit code ${code}: ${log}`));
      restarting = restart(watched);
    });
  };

  // Never rejects: nobody would be there to catch it.
  const restart = async (dead: EmbeddedPostgres) => {
    for (let waitMs = 100; !stopped.signal.aborted; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      try {
        await dead.stop();
        server = await startEmbeddedPostgres({ ...options, port });
        watch(server);
        return;
      } catch (error) {
        options.onTrouble("EmbeddedPostgresRestartFailed", error as Error);
        await delay(waitMs, undefined, { signal: stopped.signal }).catch(() => {});
      }
    }
  };

  watch(server);
  return {
    url,
    async stop() {
      stopped.abort();
      await restarting;
      await server.stop();
    },
  };
}
