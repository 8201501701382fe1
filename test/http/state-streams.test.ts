/** What a stream does when somebody reads slowly, for long, or while the database is away. */
import { connect } from "node:net";
import { once } from "node:events";
import { expect, test } from "vitest";
import { problems } from "../../src/engine/problems.ts";
import { StorageUnavailable } from "../../src/engine/storage-unavailable.ts";
import type { RenderedState } from "../../src/functions/render-state.ts";
import { createLiveReaders } from "../../src/http/live-readers.ts";
import { createStateStreams, type StreamOptions } from "../../src/http/state-streams.ts";
import { aServer, onAPort } from "../support/a-server.ts";
import { eventually } from "../support/eventually.ts";
import { readEvents } from "../support/read-events.ts";

const state = (eTag: string, more: Partial<RenderedState> = {}): RenderedState => ({
  json: JSON.stringify({ state: eTag }),
  eTag,
  entityEtag: '"entity"',
  instanceId: "1",
  rev: 1,
  children: [],
  isEnded: false,
  ...more,
});

/** A server with one stream, whose state the test makes. */
async function aStream(options: Partial<StreamOptions> = {}) {
  const { app } = aServer();
  const readers = createLiveReaders(app, 10);
  const streams = createStateStreams(app, {
    heartbeatMs: 15_000,
    longestMs: 60_000,
    ...options,
  });
  const source = {
    shown: 0,
    isOver: false,
    show: (): RenderedState => state('"first"'),
    change: () => {},
  };
  app.get("/stream", async (_request, reply) => {
    const watched = {
      show: async () => {
        source.shown += 1;
        return source.show();
      },
      wake: (onChange: () => void) => {
        source.change = onChange;
      },
      close: () => {},
    };
    await streams.run({ readers, reply, lastEventId: undefined, watched });
    source.isOver = true;
    return reply;
  });
  const port = await onAPort(app);
  return { source, port, url: `http://127.0.0.1:${port}` };
}

test("a caller that reads nothing is cut, and nothing is kept for it", async () => {
  const { source, port } = await aStream({ heartbeatMs: 100 });
  source.show = () => state('"large"', { json: JSON.stringify("x".repeat(32 * 1024 * 1024)) });
  const socket = connect(port, "127.0.0.1");
  socket.pause();
  socket.write("GET /stream HTTP/1.1\r\nhost: a\r\n\r\n");
  await eventually(() => expect(source.shown).toBe(1));

  for (let i = 0; i < 5; i += 1) source.change();
  await eventually(() => expect(source.isOver).toBe(true));
  const closed = once(socket, "close");
  socket.on("error", () => {});
  socket.resume();

  await closed;
  expect(source.shown).toBe(1);
  expect(socket.bytesRead).toBeLessThan(32 * 1024 * 1024);
});

test("a stream ends after its longest life, without a word, so that its client comes back", async () => {
  const { url } = await aStream({ heartbeatMs: 50, longestMs: 10 });

  const events = await readEvents({ url }, "/stream");

  expect(await events.rest()).toMatchObject([{ name: "state" }]);
});

test("a stream outlives a database that is away", async () => {
  const { source, url } = await aStream();
  const events = await readEvents({ url }, "/stream");
  await events.next();
  source.show = () => {
    source.show = () => state('"second"', { isEnded: true });
    throw new StorageUnavailable("away");
  };

  source.change();

  expect(await events.rest()).toMatchObject([{ name: "state", id: '"second"' }, { name: "end" }]);
});

test("what goes wrong otherwise ends the stream with a problem that says no more than it should", async () => {
  const { source, url } = await aStream();
  const events = await readEvents({ url }, "/stream");
  await events.next();
  source.show = () => {
    throw new Error("a secret of ours");
  };

  source.change();

  expect(await events.rest()).toEqual([
    {
      name: "problem",
      id: undefined,
      data: { status: 500, detail: "The stream failed. Connect again." },
    },
  ]);
});

test("a state that looks as before is not told again", async () => {
  const { source, url } = await aStream();
  const events = await readEvents({ url }, "/stream");
  await events.next();

  source.change();
  await eventually(() => expect(source.shown).toBe(2));
  source.show = () => {
    throw problems.instanceNotFound({ domain: "core", workflow: "loan", instance: "1" });
  };
  source.change();

  expect(await events.rest()).toMatchObject([{ name: "problem", data: { status: 404 } }]);
});

test("a burst of changes is told in fewer events, the last one always", async () => {
  const { source, url } = await aStream();
  const events = await readEvents({ url }, "/stream");
  await events.next();

  for (let i = 1; i <= 30; i += 1) {
    source.show = () => state(`"${i}"`, { isEnded: i === 30 });
    source.change();
  }

  expect(await events.rest()).toMatchObject([{ name: "state", id: '"30"' }, { name: "end" }]);
});
