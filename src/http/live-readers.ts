/**
 * Those whose requests are held open until something changes. Each costs a connection and some
 * memory, so there is a limit; none of them holds up the server's stop.
 */
import type { FastifyReply } from "fastify";
import { problems } from "../engine/problems.ts";
import type { HttpServer } from "./create-server.ts";

export interface LiveReader {
  /** Something has changed. */
  change(): void;
  /** There is nothing more to wait for: the time is over, the caller has gone, the server stops. */
  end(): void;
  /** Waits for the next change. What came since the last call counts, however often it came, as one. */
  next(): Promise<"changed" | "over">;
  /** Makes room for others. */
  close(): void;
}

export interface LiveReaders {
  /** Throws when there are too many. */
  open(reply: FastifyReply): LiveReader;
}

export function createLiveReaders(app: HttpServer, most: number): LiveReaders {
  const readers = new Set<LiveReader>();
  let isStopping = false;
  app.addHook("preClose", (done) => {
    isStopping = true;
    for (const reader of readers) reader.end();
    done();
  });
  return {
    open({ raw }) {
      if (readers.size >= most) throw problems.tooManyReaders({ limit: most });
      const reader = createReader(() => {
        readers.delete(reader);
        raw.off("close", reader.end);
      });
      readers.add(reader);
      raw.once("close", reader.end);
      if (isStopping || raw.destroyed) reader.end();
      return reader;
    },
  };
}

function createReader(close: () => void): LiveReader {
  let hasChanged = false;
  let isOver = false;
  let goOn: (() => void) | undefined;
  return {
    change() {
      hasChanged = true;
      goOn?.();
    },
    end() {
      isOver = true;
      goOn?.();
    },
    async next() {
      if (!hasChanged && !isOver) {
        await new Promise<void>((resolve) => {
          goOn = resolve;
        });
        goOn = undefined;
      }
      hasChanged = false;
      return isOver ? "over" : "changed";
    },
    close,
  };
}
