/** No spelling of an address inside gets a call out: nothing on loopback sees a connection. */
import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { HttpClient, OutgoingRequest } from "../../src/outgoing/http-client.ts";
import { openHttpClient, type HttpClientOptions } from "../../src/outgoing/open-http-client.ts";
import { aWebServer } from "../support/a-web-server.ts";

let connections = 0;
const trap = createServer((socket) => {
  connections += 1;
  socket.destroy();
});
// Every address of this machine, of both families.
trap.listen(0);
await once(trap, "listening");
const { port } = trap.address() as AddressInfo;
afterAll(() => void trap.close());
beforeEach(() => {
  connections = 0;
});

function aClient(options: HttpClientOptions = {}): HttpClient {
  const client = openHttpClient(options);
  onTestFinished(() => client.close());
  return client;
}

const get = (url: string, more: Partial<OutgoingRequest> = {}): OutgoingRequest => ({
  url,
  method: "GET",
  headers: {},
  timeoutMs: 60_000,
  ...more,
});

test("the trap is one: a client that may, gets to it", async () => {
  const client = aClient({ allow: ["loopback"] });

  await expect(client.send(get(`http://127.0.0.1:${port}/`))).rejects.toMatchObject({
    reason: "connection",
  });

  expect(connections).toBe(1);
});

describe("an address in the URL is refused as", () => {
  test.each([
    ["it is", "http://127.0.0.1:PORT/"],
    ["another of loopback", "http://127.8.9.10:PORT/"],
    ["one decimal number", "http://2130706433:PORT/"],
    ["one hexadecimal number", "http://0x7f000001:PORT/"],
    ["one octal number", "http://017700000001:PORT/"],
    ["hexadecimal parts", "http://0x7f.0x0.0x0.0x1:PORT/"],
    ["octal parts", "http://0177.0.0.01:PORT/"],
    ["mixed parts", "http://0x7f.0.0.1:PORT/"],
    ["two parts", "http://127.1:PORT/"],
    ["three parts", "http://127.0.1:PORT/"],
    ["hexadecimal in two parts", "http://0x7f.1:PORT/"],
    ["with a dot at the end", "http://127.0.0.1.:PORT/"],
    ["with encoded digits", "http://%31%32%37.0.0.1:PORT/"],
    ["with encoded dots", "http://127%2e0%2e0%2e1:PORT/"],
    ["full-width digits", "http://１２７.０.０.１:PORT/"],
    ["circled digits", "http://①②⑦.⓪.⓪.①:PORT/"],
    ["ideographic dots", "http://127。0。0。1:PORT/"],
    ["zero", "http://0:PORT/"],
    ["hexadecimal zero", "http://0x0:PORT/"],
    ["all zeros", "http://0.0.0.0:PORT/"],
    ["IPv6 loopback", "http://[::1]:PORT/"],
    ["IPv6 loopback in full", "http://[0000:0000:0000:0000:0000:0000:0000:0001]:PORT/"],
    ["IPv6 unspecified", "http://[::]:PORT/"],
    ["IPv4-mapped", "http://[::ffff:127.0.0.1]:PORT/"],
    ["IPv4-mapped in hexadecimal", "http://[::ffff:7f00:1]:PORT/"],
    ["IPv4-mapped in full", "http://[0:0:0:0:0:ffff:7f00:0001]:PORT/"],
    ["IPv4-compatible", "http://[::127.0.0.1]:PORT/"],
    ["IPv4-translated", "http://[::ffff:0:127.0.0.1]:PORT/"],
    ["behind NAT64", "http://[64:ff9b::127.0.0.1]:PORT/"],
    ["behind a local NAT64", "http://[64:ff9b:1::7f00:1]:PORT/"],
    ["6to4", "http://[2002:7f00:1::]:PORT/"],
    ["Teredo", "http://[2001:0:7f00:1::80ff:fffe]:PORT/"],
    ["link-local", "http://[fe80::1]:PORT/"],
    ["unique local", "http://[fd00::1]:PORT/"],
    ["private 10", "http://10.0.0.1:PORT/"],
    ["private 172", "http://172.16.0.1:PORT/"],
    ["private 192", "http://192.168.0.1:PORT/"],
    ["private, as one number", "http://167772161:PORT/"],
    ["carrier-grade NAT", "http://100.64.0.1:PORT/"],
    ["multicast", "http://224.0.0.1:PORT/"],
    ["broadcast", "http://255.255.255.255:PORT/"],
    ["cloud metadata", "http://169.254.169.254/latest/meta-data/"],
    ["cloud metadata as one number", "http://2852039166/latest/meta-data/"],
    ["cloud metadata in hexadecimal", "http://0xa9fea9fe/latest/meta-data/"],
    ["cloud metadata, mapped", "http://[::ffff:a9fe:a9fe]/latest/meta-data/"],
    ["cloud metadata over IPv6", "http://[fd00:ec2::254]/latest/meta-data/"],
    ["backslashes", "http:\\\\127.0.0.1:PORT\\"],
    ["no slashes", "http:127.0.0.1:PORT/"],
    ["many slashes", "http://///127.0.0.1:PORT/"],
    ["a line break inside", "http://127.0.\n0.1:PORT/"],
    ["a tab inside", "ht\ttp://127.0.0.1:PORT/"],
    ["blanks around", "  http://127.0.0.1:PORT/  "],
    ["over TLS", "https://127.0.0.1:PORT/"],
  ])("%s", async (_, url) => {
    const sending = aClient().send(get(url.replace("PORT", String(port))));

    await expect(sending).rejects.toMatchObject({
      reason: "refused",
      message: expect.stringMatching(/ is a .+ address.*Egress\.Allow/s) as string,
    });
    expect(connections).toBe(0);
  });
});

describe("a URL is refused for", () => {
  test.each([
    ["a user before the host", "http://example.com@127.0.0.1:PORT/", "refused"],
    ["a user and password", "http://example.com:80@127.0.0.1:PORT/", "refused"],
    ["an encoded user", "http://example.com%2F@127.0.0.1:PORT/", "refused"],
    ["the scheme file", "file:///etc/passwd", "refused"],
    ["the scheme ftp", "ftp://127.0.0.1:PORT/", "refused"],
    ["the scheme gopher", "gopher://127.0.0.1:PORT/_GET", "refused"],
    ["the scheme ws", "ws://127.0.0.1:PORT/", "refused"],
    ["the scheme data", "data:text/plain,hello", "refused"],
    ["the scheme unix", "unix:/var/run/docker.sock", "refused"],
    ["no scheme", "127.0.0.1", "badRequest"],
    ["only slashes", "//127.0.0.1:PORT/", "badRequest"],
    ["a zone", "http://[fe80::1%25lo]:PORT/", "badRequest"],
    ["too large a number", "http://4294967296:PORT/", "badRequest"],
    ["five parts", "http://127.0.0.0.1:PORT/", "badRequest"],
    ["octal digits that are none", "http://0189.0.0.1:PORT/", "badRequest"],
    ["nothing", "", "badRequest"],
  ])("%s", async (_, url, reason) => {
    const sending = aClient().send(get(url.replace("PORT", String(port))));

    await expect(sending).rejects.toMatchObject({ reason });
    expect(connections).toBe(0);
  });
});

describe("a name is refused that", () => {
  test.each(["localhost", "LOCALHOST", "ⓛocalhost", "loc%61lhost"])("is %s", async (name) => {
    const sending = aClient().send(get(`http://${name}:${port}/`));

    await expect(sending).rejects.toMatchObject({ reason: "refused" });
    expect(connections).toBe(0);
  });

  test.each([
    ["127.0.0.1", 4],
    ["0.0.0.0", 4],
    ["10.0.0.1", 4],
    ["169.254.169.254", 4],
    ["::1", 6],
    ["::", 6],
    ["::ffff:127.0.0.1", 6],
    ["64:ff9b::7f00:1", 6],
    ["fe80::1%lo", 6],
    ["fd00::1", 6],
  ])("resolves to %s", async (address, family) => {
    const client = aClient({ resolve: () => Promise.resolve([{ address, family }]) });

    const sending = client.send(get(`http://evil.example:${port}/`));

    await expect(sending).rejects.toMatchObject({
      reason: "refused",
      message: expect.stringContaining(`'evil.example' resolves to ${address}`) as string,
    });
    expect(connections).toBe(0);
  });

  test("resolves to several, all of them inside", async () => {
    const client = aClient({ resolve: () => Promise.resolve([v4("10.0.0.1"), v6("::1")]) });

    const sending = client.send(get(`http://evil.example:${port}/`));

    await expect(sending).rejects.toMatchObject({ reason: "refused" });
    expect(connections).toBe(0);
  });
});

const v4 = (address: string): LookupAddress => ({ address, family: 4 });
const v6 = (address: string): LookupAddress => ({ address, family: 6 });

describe("a name whose answer changes", () => {
  test("is asked for once per connection: what was judged is what is connected to", async () => {
    const server = await aWebServer((_asked, _request, response) => response.end("here"));
    const answers = [[v4("127.0.0.1")], [v6("::1")]];
    const asked: string[] = [];
    const client = aClient({
      allow: ["127.0.0.1"],
      resolve: (name) => Promise.resolve(answers[asked.push(name) - 1] ?? []),
    });

    const answer = await client.send(get(`http://rebind.example:${server.port}/`));

    expect(answer.status).toBe(200);
    expect(asked).toEqual(["rebind.example"]);
  });

  test("is judged again for the next connection", async () => {
    const server = await aWebServer((_asked, _request, response) =>
      response.setHeader("connection", "close").end("here"),
    );
    let address = "127.0.0.1";
    const client = aClient({
      allow: ["127.0.0.1"],
      resolve: () => Promise.resolve([v4(address)]),
    });
    await client.send(get(`http://rebind.example:${server.port}/`));

    address = "127.0.0.2";
    const sending = client.send(get(`http://rebind.example:${server.port}/`));

    await expect(sending).rejects.toMatchObject({ reason: "refused" });
    expect(server.connections()).toBe(1);
  });

  test("is reached by those of its addresses that are allowed, and by no other", async () => {
    const server = await aWebServer((_asked, _request, response) => response.end("here"));
    const client = aClient({
      allow: ["127.0.0.1"],
      resolve: () => Promise.resolve([v4("127.0.0.2"), v6("::1"), v4("127.0.0.1")]),
    });

    const answer = await client.send(get(`http://mixed.example:${server.port}/`));

    expect(answer.status).toBe(200);
    expect(connections).toBe(0);
  });
});

describe("a redirect is refused to", () => {
  const redirectTo = (location: string) =>
    aWebServer((_asked, _request, response) => response.writeHead(302, { location }).end());

  test.each([
    ["another address of loopback", "http://127.0.0.2:PORT/"],
    ["IPv6 loopback", "http://[::1]:PORT/"],
    ["a decimal spelling", "http://2130706434:PORT/"],
    ["an IPv6 spelling", "http://[::ffff:127.0.0.2]:PORT/"],
    ["a name that resolves inside", "http://localhost:PORT/"],
    ["a network-path reference", "//127.0.0.2:PORT/"],
    ["cloud metadata", "http://169.254.169.254/latest/meta-data/"],
    ["a user before the host", "http://user:hunter2@127.0.0.1:PORT/"],
    ["a file", "file:///etc/passwd"],
    ["gopher", "gopher://127.0.0.1:PORT/"],
  ])("%s", async (_, location) => {
    const server = await redirectTo(location.replace("PORT", String(port)));
    const client = aClient({
      allow: ["127.0.0.1"],
      resolve: () => Promise.resolve([v6("::1")]),
    });

    const sending = client.send(get(server.url));

    await expect(sending).rejects.toMatchObject({
      reason: "refused",
      message: expect.not.stringContaining("hunter2") as string,
    });
    expect(server.asked).toHaveLength(1);
    expect(connections).toBe(0);
  });

  test("an address inside, at the end of a chain", async () => {
    const last = await redirectTo(`http://127.0.0.2:${port}/`);
    const first = await redirectTo(last.url);
    const client = aClient({ allow: ["127.0.0.1"] });

    await expect(client.send(get(first.url))).rejects.toMatchObject({ reason: "refused" });

    expect(last.asked).toHaveLength(1);
    expect(connections).toBe(0);
  });
});

describe("an address that the operator configured", () => {
  test("is called wherever it is", async () => {
    const server = await aWebServer((_asked, _request, response) => response.end("here"));

    const answer = await aClient().send(get(server.url, { isConfigured: true }));

    expect(answer.status).toBe(200);
  });

  test("lends its connection to nobody else", async () => {
    const server = await aWebServer((_asked, _request, response) => response.end("here"));
    const client = aClient();
    await client.send(get(server.url, { isConfigured: true }));

    await expect(client.send(get(server.url))).rejects.toMatchObject({ reason: "refused" });

    expect(server.asked).toHaveLength(1);
  });

  test("may redirect within itself, and nowhere else inside", async () => {
    const server = await aWebServer(({ url }, _request, response) => {
      const location = { "/": "/moved", "/out": `http://127.0.0.1:${port}/` }[url];
      if (location === undefined) response.end("moved");
      else response.writeHead(307, { location }).end();
    });
    const client = aClient();

    const answer = await client.send(get(server.url, { isConfigured: true }));
    const leaving = client.send(get(`${server.url}/out`, { isConfigured: true }));

    expect(answer).toMatchObject({ status: 200, url: `${server.url}/moved` });
    await expect(leaving).rejects.toMatchObject({ reason: "refused" });
    expect(connections).toBe(0);
  });
});

test.each(["evil.example", "*.example"])(
  "with %s allowed, the name may be inside",
  async (allow) => {
    const server = await aWebServer((_asked, _request, response) => response.end("here"));
    const client = aClient({ allow: [allow], resolve: () => Promise.resolve([v4("127.0.0.1")]) });

    const answer = await client.send(get(`http://evil.example:${server.port}/`));

    expect(answer.status).toBe(200);
  },
);
