/** The outgoing client against real servers: limits, redirects, certificates, connections. */
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import type { OutgoingRequest } from "../../src/outgoing/http-client.ts";
import { openHttpClient, type HttpClientOptions } from "../../src/outgoing/open-http-client.ts";
import { aCertificate } from "../support/a-certificate.ts";
import { aWebServer } from "../support/a-web-server.ts";

const maxBytes = 64 * 1024;
const shared = openHttpClient({ allow: ["loopback"], maxBytes });
afterAll(() => shared.close());

function aClient(options: HttpClientOptions = {}) {
  const client = openHttpClient({ allow: ["loopback"], maxBytes, ...options });
  onTestFinished(() => client.close());
  return client;
}

const to = (url: string, more: Partial<OutgoingRequest> = {}): OutgoingRequest => ({
  url,
  method: "GET",
  headers: {},
  timeoutMs: 60_000,
  ...more,
});

const send = (url: string, more: Partial<OutgoingRequest> = {}) => shared.send(to(url, more));
/** Nothing listens on port 1. */
const nobody = "http://127.0.0.1:1/";
const textOf = ({ body }: { body: Uint8Array }) => Buffer.from(body).toString();

/** A server that answers with bytes, HTTP or not. */
async function aRawServer(answer: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => answer(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

describe("a request", () => {
  test("arrives with its method, path, query, headers and body", async () => {
    const server = await aWebServer((_asked, _request, response) => response.end());

    await send(`${server.url}/a%20b/c?x=1&y=%C3%A9#part`, {
      method: "patch",
      headers: { "X-Some": "thing", "Content-Type": "text/plain" },
      body: "grüße",
    });

    expect(server.asked).toMatchObject([
      {
        method: "PATCH",
        url: "/a%20b/c?x=1&y=%C3%A9",
        headers: { "x-some": "thing", "content-type": "text/plain", "content-length": "7" },
        body: "grüße",
      },
    ]);
  });

  test("leaves out what is the connection's business", async () => {
    const server = await aWebServer((_asked, _request, response) => response.end());

    await send(server.url, {
      method: "POST",
      headers: {
        "Content-Length": "999",
        "Transfer-Encoding": "chunked",
        Connection: "close",
        Expect: "100-continue",
        Upgrade: "h2c",
      },
      body: "four",
    });

    expect(server.asked[0]).toMatchObject({ body: "four", headers: { "content-length": "4" } });
    expect(server.asked[0]?.headers).not.toHaveProperty("expect");
    expect(server.asked[0]?.headers).not.toHaveProperty("upgrade");
    expect(server.asked[0]?.headers).not.toHaveProperty("transfer-encoding");
  });

  test.each([
    ["a line break in a value", { "X-A": "a\r\nX-B: b" }],
    ["a line break in a name", { "X-A\r\nX-B": "b" }],
    ["a blank in a name", { "X A": "b" }],
    ["characters beyond Latin-1", { "X-A": "日本" }],
  ])("with %s in its headers is not sent", async (_, headers) => {
    const server = await aWebServer((_asked, _request, response) => response.end());

    await expect(send(server.url, { headers })).rejects.toMatchObject({
      reason: "badRequest",
      isRetryable: false,
    });
    expect(server.connections()).toBe(0);
  });

  test("with a method that is none is not sent", async () => {
    const server = await aWebServer((_asked, _request, response) => response.end());

    await expect(send(server.url, { method: "GET /" })).rejects.toMatchObject({
      reason: "badRequest",
    });
    expect(server.connections()).toBe(0);
  });
});

describe("an answer", () => {
  test("comes with status, reason, headers and bytes, whatever the status", async () => {
    const server = await aWebServer((_asked, _request, response) => {
      response.writeHead(503, "Gone Fishing", [
        ["Set-Cookie", "a=1"],
        ["Set-Cookie", "b=2"],
        ["X-One", "1"],
      ]);
      response.end("later");
    });

    const answer = await send(server.url);

    expect(answer).toMatchObject({
      status: 503,
      statusText: "Gone Fishing",
      headers: { "set-cookie": "a=1, b=2", "x-one": "1" },
      url: `${server.url}/`,
    });
    expect(textOf(answer)).toBe("later");
  });

  test.each([
    ["gzip", gzipSync],
    ["x-gzip", gzipSync],
    ["GZIP", gzipSync],
    ["br", brotliCompressSync],
    ["deflate", deflateSync],
    ["deflate", deflateRawSync],
    ["identity", (bytes: Buffer) => bytes],
  ] as const)("in %s is decompressed", async (encoding, compress) => {
    const bytes = compress(Buffer.from("hello ".repeat(100)));
    const server = await aWebServer((_asked, _request, response) =>
      response
        .writeHead(200, { "content-encoding": encoding, "content-length": bytes.length })
        .end(bytes),
    );

    const answer = await send(server.url);

    expect(server.asked[0]?.headers["accept-encoding"]).toBe("gzip, deflate, br");
    expect(textOf(answer)).toBe("hello ".repeat(100));
    expect(answer.headers).not.toHaveProperty("content-encoding");
    expect(answer.headers).not.toHaveProperty("content-length");
  });

  test("of HEAD has headers only", async () => {
    const server = await aWebServer((_asked, _request, response) =>
      response
        .writeHead(200, { "content-length": 10 * maxBytes, "content-encoding": "gzip" })
        .end(),
    );

    const answer = await send(server.url, { method: "HEAD" });

    expect(answer).toMatchObject({
      status: 200,
      headers: { "content-length": String(10 * maxBytes) },
    });
    expect(answer.body).toHaveLength(0);
  });

  test.each([204, 304])("of status %i has no body", async (status) => {
    const server = await aWebServer((_asked, _request, response) => {
      response.writeHead(status).end();
    });

    expect(await send(server.url)).toMatchObject({ status, body: { length: 0 } });
  });

  test("may be exactly as large as the limit", async () => {
    const server = await aWebServer((_asked, _request, response) =>
      response.end(Buffer.alloc(maxBytes)),
    );

    expect((await send(server.url)).body).toHaveLength(maxBytes);
  });

  test("may have a limit of its own", async () => {
    const server = await aWebServer((_asked, _request, response) =>
      response.end(Buffer.alloc(2 * maxBytes)),
    );

    const answer = await send(server.url, { maxBytes: 2 * maxBytes });

    expect(answer.body).toHaveLength(2 * maxBytes);
  });
});

describe("an answer is cut that", () => {
  test.each([
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
    ["deflate", deflateSync],
  ] as const)("is a %s bomb", async (encoding, compress) => {
    const bomb = compress(Buffer.alloc(20 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(maxBytes);
    const server = await aWebServer((_asked, _request, response) =>
      response.writeHead(200, { "content-encoding": encoding }).end(bomb),
    );

    await expect(send(server.url)).rejects.toMatchObject({
      reason: "tooLarge",
      isRetryable: false,
      message: expect.stringContaining("Egress.AnswerLimitBytes") as string,
    });
  });

  test("is compressed twice", async () => {
    const server = await aWebServer((_asked, _request, response) =>
      response
        .writeHead(200, { "content-encoding": "gzip, gzip" })
        .end(gzipSync(gzipSync("hello"))),
    );

    await expect(send(server.url)).rejects.toMatchObject({ reason: "badAnswer" });
  });

  test.each(["zstd", "constructor", "x".repeat(500)])(
    "has the unknown encoding %s",
    async (encoding) => {
      const server = await aWebServer((_asked, _request, response) =>
        response.writeHead(200, { "content-encoding": encoding }).end("hello"),
      );

      await expect(send(server.url)).rejects.toMatchObject({ reason: "badAnswer" });
    },
  );

  test("is not what its encoding says", async () => {
    const server = await aWebServer((_asked, _request, response) =>
      response.writeHead(200, { "content-encoding": "gzip" }).end("hello"),
    );

    await expect(send(server.url)).rejects.toMatchObject({ reason: "badAnswer" });
  });

  test("announces more than the limit, before any of it is read", async () => {
    let isClosed: Promise<unknown> | undefined;
    const server = await aWebServer((_asked, _request, response) => {
      isClosed = once(response, "close");
      response.writeHead(200, { "content-length": maxBytes + 1 });
      response.flushHeaders();
    });

    await expect(send(server.url)).rejects.toMatchObject({ reason: "tooLarge" });

    await isClosed;
  });

  test("never ends, and its connection with it", async () => {
    let isClosed: Promise<unknown> | undefined;
    const server = await aWebServer((_asked, _request, response) => {
      isClosed = once(response, "close");
      const more = () => {
        while (response.write(Buffer.alloc(8192)));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    });

    await expect(send(server.url)).rejects.toMatchObject({ reason: "tooLarge" });

    await isClosed;
  });

  test("comes drop by drop", async () => {
    const server = await aWebServer((_asked, _request, response) => {
      const drip = setInterval(() => response.write("."), 10);
      response.once("close", () => clearInterval(drip));
    });

    await expect(send(server.url, { timeoutMs: 200 })).rejects.toMatchObject({
      reason: "timeout",
      isRetryable: true,
      message: `${server.url} gave no complete answer within 0.2 s. Raise the time limit if it needs longer.`,
    });
  });

  test("has headers that come drop by drop", async () => {
    const url = await aRawServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      const drip = setInterval(() => socket.write("X-A: b\r\n"), 10);
      socket.once("close", () => clearInterval(drip));
    });

    await expect(send(url, { timeoutMs: 200 })).rejects.toMatchObject({ reason: "timeout" });
  });

  test("does not come at all", async () => {
    const url = await aRawServer(() => undefined);

    await expect(send(url, { timeoutMs: 100 })).rejects.toMatchObject({ reason: "timeout" });
  });

  test("has large headers", async () => {
    const url = await aRawServer((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nX-Large: ${"x".repeat(70_000)}\r\n\r\n`);
    });

    await expect(send(url)).rejects.toMatchObject({ reason: "tooLarge" });
  });

  test("has many headers", async () => {
    const url = await aRawServer((socket) => {
      const headers = Array.from({ length: 300 }, (_, i) => `X-${i}: ${i}\r\n`).join("");
      socket.write(`HTTP/1.1 200 OK\r\n${headers}Content-Length: 0\r\n\r\n`);
    });

    await expect(send(url)).rejects.toMatchObject({ reason: "tooLarge" });
  });

  test("is shorter than it says", async () => {
    const url = await aRawServer((socket) => {
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello");
    });

    await expect(send(url)).rejects.toMatchObject({ reason: "connection", isRetryable: true });
  });

  test("has two lengths", async () => {
    const url = await aRawServer((socket) => {
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!");
    });

    await expect(send(url)).rejects.toMatchObject({ reason: "badAnswer" });
  });

  test("is not HTTP", async () => {
    const url = await aRawServer((socket) => socket.end("220 mail.example ESMTP\r\n"));

    await expect(send(url)).rejects.toMatchObject({ reason: "badAnswer" });
  });
});

test("of an answer that is longer than it says, the rest reaches nobody", async () => {
  const url = await aRawServer((socket) => {
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n");
    socket.write("Content-Length: 4\r\n\r\nevil");
  });

  const answers = [await send(url), await send(url)];

  expect(answers.map(textOf)).toEqual(["hello", "hello"]);
});

describe("a redirect", () => {
  test("is followed, and a POST becomes a GET where browsers make it one", async () => {
    const server = await aWebServer(({ url }, _request, response) => {
      if (url === "/") response.writeHead(303, { location: "/see" }).end("moved");
      else response.end("seen");
    });

    const answer = await send(server.url, { method: "POST", body: "x" });

    expect(textOf(answer)).toBe("seen");
    expect(answer.url).toBe(`${server.url}/see`);
    expect(server.asked.map(({ method, url, body }) => [method, url, body])).toEqual([
      ["POST", "/", "x"],
      ["GET", "/see", ""],
    ]);
  });

  test("that keeps the method sends the body again", async () => {
    const server = await aWebServer(({ url }, _request, response) => {
      if (url === "/") response.writeHead(308, { location: "/there" }).end();
      else response.end("done");
    });

    await send(server.url, { method: "PUT", body: "x" });

    expect(server.asked.map(({ method, body }) => [method, body])).toEqual([
      ["PUT", "x"],
      ["PUT", "x"],
    ]);
  });

  test("to another origin takes no credentials along", async () => {
    const other = await aWebServer((_asked, _request, response) => response.end());
    const server = await aWebServer((_asked, _request, response) => {
      response.writeHead(307, { location: other.url }).end();
    });

    await send(server.url, {
      headers: {
        Authorization: "Bearer abc",
        Cookie: "a=b",
        "X-Api-Key": "abc",
        Accept: "text/plain",
      },
    });

    const { headers } = other.asked[0]!;
    expect(headers).toMatchObject({ accept: "text/plain" });
    expect(Object.keys(headers)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/authorization|cookie|x-api-key/)]),
    );
    expect(server.asked[0]?.headers).toMatchObject({ authorization: "Bearer abc" });
  });

  test("in a circle is left after five", async () => {
    const server = await aWebServer((_asked, _request, response) => {
      response.writeHead(302, { location: "/again" }).end();
    });

    await expect(send(server.url)).rejects.toMatchObject({
      reason: "badAnswer",
      message: expect.stringContaining("redirects more than 5 times") as string,
    });
    expect(server.asked).toHaveLength(6);
  });

  test("is an answer like any other to who follows none", async () => {
    const server = await aWebServer((_asked, _request, response) => {
      response.writeHead(302, { location: "/again" }).end();
    });

    expect(await send(server.url, { redirects: 0 })).toMatchObject({
      status: 302,
      headers: { location: "/again" },
    });
  });

  test("shares the time of the whole exchange", async () => {
    const server = await aWebServer((_asked, _request, response) => {
      setTimeout(() => response.writeHead(302, { location: "/again" }).end(), 60);
    });

    await expect(send(server.url, { timeoutMs: 150, redirects: 100 })).rejects.toMatchObject({
      reason: "timeout",
    });
  });

  test("with an endless body does not hold the call up", async () => {
    const server = await aWebServer(({ url }, _request, response) => {
      if (url === "/there") return void response.end("there");
      response.writeHead(302, { location: "/there" });
      const more = () => {
        while (response.write(Buffer.alloc(8192)));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    });

    expect(textOf(await send(server.url))).toBe("there");
  });

  test("from https to http is refused", async () => {
    const plain = await aWebServer((_asked, _request, response) => response.end());
    const server = await aWebServer((_asked, _request, response) => {
      response.writeHead(302, { location: plain.url }).end();
    }, aCertificate());

    await expect(send(server.url, { validateTls: false })).rejects.toMatchObject({
      reason: "refused",
    });
    expect(plain.connections()).toBe(0);
  });
});

describe("a server's certificate", () => {
  const authority = aCertificate({ isAuthority: true });
  const yesterday = new Date(Date.now() - 86_400_000);
  const tomorrow = new Date(Date.now() + 86_400_000);

  test("by a trusted issuer for the right host is good", async () => {
    const server = await aWebServer(
      (_asked, _request, response) => response.end("safe"),
      aCertificate({ issuer: authority }),
    );

    expect(textOf(await aClient({ ca: authority.cert }).send(to(server.url)))).toBe("safe");
  });

  test.each([
    ["that is self-signed", {}, "is self-signed"],
    [
      "that has expired",
      { issuer: authority, notBefore: new Date(0), notAfter: yesterday },
      "has expired",
    ],
    ["that is not valid yet", { issuer: authority, notBefore: tomorrow }, "is not valid yet"],
    [
      "for another host",
      { issuer: authority, hosts: ["other.example", "10.9.8.7"] },
      "is for another host name",
    ],
    [
      "by an issuer nobody knows",
      { issuer: aCertificate({ isAuthority: true }) },
      "comes from an issuer that is not trusted here",
    ],
  ])("%s is refused, and taken without the check", async (_, options, says) => {
    const server = await aWebServer(
      (_asked, _request, response) => response.end("taken"),
      aCertificate(options),
    );
    const client = aClient({ ca: authority.cert });

    await expect(client.send(to(server.url))).rejects.toMatchObject({
      reason: "tls",
      isRetryable: false,
      message: expect.stringContaining(says) as string,
    });
    expect(server.asked).toHaveLength(0);

    const unchecked = await client.send(to(server.url, { validateTls: false }));

    expect(textOf(unchecked)).toBe("taken");
    // What was opened without the check serves no call with it.
    await expect(client.send(to(server.url))).rejects.toMatchObject({ reason: "tls" });
    expect(server.asked).toHaveLength(1);
  });

  test("is none where the port does not speak TLS", async () => {
    const server = await aWebServer((_asked, _request, response) => response.end());

    await expect(send(server.url.replace("http:", "https:"))).rejects.toMatchObject({
      reason: "tls",
    });
  });
});

describe("connections", () => {
  test("are used again", async () => {
    const server = await aWebServer((_asked, _request, response) => response.end("x"));

    for (let i = 0; i < 20; i += 1) await send(server.url);

    // The next call may come before the last one's connection is free again: two take turns.
    expect(server.asked).toHaveLength(20);
    expect(server.connections()).toBeLessThanOrEqual(2);
  });

  test("over TLS are used again, with and without the check", async () => {
    const authority = aCertificate({ isAuthority: true });
    const server = await aWebServer(
      (_asked, _request, response) => response.end("x"),
      aCertificate({ issuer: authority }),
    );
    const client = aClient({ ca: authority.cert });

    for (let i = 0; i < 10; i += 1) {
      await client.send(to(server.url));
      await client.send(to(server.url, { validateTls: false }));
    }

    expect(server.asked).toHaveLength(20);
    expect(server.connections()).toBeLessThanOrEqual(4);
  });

  test("that nobody accepts are reported with what to look at", async () => {
    await expect(send(nobody)).rejects.toMatchObject({
      reason: "connection",
      isRetryable: true,
      message: `${nobody}: Nothing listens there (ECONNREFUSED). Check host and port, and that the server runs.`,
    });
  });

  test("are gone when the client is closed", async () => {
    const server = await aWebServer((_asked, _request, response) => response.end("x"));
    const client = openHttpClient({ allow: ["loopback"] });
    await client.send(to(server.url));

    await client.close();

    await expect(client.send(to(server.url))).rejects.toMatchObject({ reason: "connection" });
  });
});

test.each(["ENOTFOUND", "EAI_AGAIN"])("a name without an address (%s) says so", async (code) => {
  const client = aClient({
    resolve: () => Promise.reject(Object.assign(new Error(`getaddrinfo ${code}`), { code })),
  });

  await expect(client.send(to("http://nowhere.example/"))).rejects.toMatchObject({
    reason: "resolution",
    isRetryable: true,
    message: expect.stringContaining("cannot be resolved") as string,
  });
});

describe("a cancelled call", () => {
  test("ends at once", async () => {
    const controller = new AbortController();
    const server = await aWebServer(() => controller.abort());

    const sending = send(server.url, { signal: controller.signal });

    await expect(sending).rejects.toMatchObject({ reason: "cancelled", isRetryable: false });
  });

  test("ends in the middle of its answer", async () => {
    const controller = new AbortController();
    const server = await aWebServer((_asked, _request, response) => {
      response.write("half");
      setTimeout(() => controller.abort(), 20);
    });

    const sending = send(server.url, { signal: controller.signal });

    await expect(sending).rejects.toMatchObject({ reason: "cancelled" });
  });

  test("is not begun when it was cancelled before", async () => {
    const server = await aWebServer((_asked, _request, response) => response.end());

    const sending = send(server.url, { signal: AbortSignal.abort() });

    await expect(sending).rejects.toMatchObject({ reason: "cancelled" });
    expect(server.asked).toHaveLength(0);
  });
});

test("no message repeats a credential of its address", async () => {
  await expect(send(`${nobody}?access_token=hunter2&page=1`)).rejects.toMatchObject({
    message: expect.stringMatching(/access_token=\*\*\*&page=1/) as string,
  });
  await expect(send("http://user:hunter2@127.0.0.1/")).rejects.toMatchObject({
    message: expect.not.stringContaining("hunter2") as string,
  });
});
