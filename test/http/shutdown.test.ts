import { EventEmitter, once } from "node:events";
import { connect, createServer as createTcpServer } from "node:net";
import { expect, test } from "vitest";
import { listen, loopback } from "../../src/http/listen.ts";
import { aServer, onAPort, readAnswer, sendBytes } from "../support/a-server.ts";

test("a request in progress is finished, the next one on its connection is 503 and the connection ends", async () => {
  const { app } = aServer();
  const gate = new EventEmitter();
  app.get("/slow", async () => {
    const opened = once(gate, "open");
    gate.emit("entered");
    await opened;
    return { done: true };
  });
  const port = await onAPort(app);
  const socket = connect(port, "127.0.0.1");
  let received = "";
  socket.on("data", (data) => (received += data.toString()));
  const slow = "GET /slow HTTP/1.1\r\nhost: a\r\n\r\n";
  const entered = once(gate, "entered");

  socket.write(slow);
  await entered;
  const closed = Promise.all([app.close(), once(socket, "close")]);
  socket.write(slow);
  gate.emit("open");
  await closed;

  const [, first = "", second] = received.split("HTTP/1.1 ");
  expect(first).toMatch(/^200[^]*"done":true/);
  // Node may end the connection with the first answer; if it reads the second request, it refuses it.
  if (second !== undefined) expect(second).toMatch(/^503[^]*Http:503002/);
});

test("an idle keep-alive connection does not hold up closing", async () => {
  const { app } = aServer();
  const port = await onAPort(app);
  const socket = connect(port, "127.0.0.1");
  socket.write("GET /api/v1/core/things/x HTTP/1.1\r\nhost: a\r\n\r\n");
  await once(socket, "data");
  const started = performance.now();

  await app.close();

  // Left to itself it would stay open for 72 seconds.
  expect(performance.now() - started).toBeLessThan(60_000);
});

test("both loopback addresses answer, with the same limits, until the server is closed", async () => {
  const { app } = aServer();
  const port = await listen(app, { hosts: loopback, port: 0 });
  const big = `GET / HTTP/1.1\r\nhost: a\r\nbig: ${"x".repeat(70_000)}\r\n\r\n`;

  const four = await fetch(`http://127.0.0.1:${port}/nowhere`);
  const six = await fetch(`http://[::1]:${port}/nowhere`).catch(() => undefined);
  const refused = readAnswer(await sendBytes(port, big));
  await app.close();

  expect(four.status).toBe(404);
  // A machine without IPv6 serves the other alone.
  if (six !== undefined) expect(six.headers.get("x-app-version")).toBe("1.2.3");
  expect(refused.status).toBe(431);
  await expect(fetch(`http://127.0.0.1:${port}/nowhere`)).rejects.toThrow();
  await expect(fetch(`http://[::1]:${port}/nowhere`)).rejects.toThrow();
});

test("a port in use is told by its code, and nothing stays open", async () => {
  const other = createTcpServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as { port: number };
  const { app } = aServer();

  const opened = listen(app, { hosts: loopback, port });

  await expect(opened).rejects.toMatchObject({ code: "EADDRINUSE" });
  other.close();
});
