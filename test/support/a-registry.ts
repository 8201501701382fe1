/** A package registry of our own on the loopback; it can also be as hostile as a test wants it. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, onTestFinished } from "vitest";

export interface SeenRequest {
  url: string;
  authorization: string | undefined;
}

export interface TestRegistry {
  url: string;
  port: number;
  /** Every request so far. */
  seen: SeenRequest[];
  /** Serves an archive as the latest version of a package; `dist` overrides what is announced. */
  add(name: string, version: string, archive: Buffer, dist?: Record<string, unknown>): void;
  /** Answers a path itself. */
  on(path: string, answer: Answerer): void;
}

type Answerer = (request: IncomingMessage, response: ServerResponse) => void;

export const integrityOf = (archive: Buffer): string =>
  `sha512-${createHash("sha512").update(archive).digest("base64")}`;

export async function aRegistry(): Promise<TestRegistry> {
  const { registry, close } = await openRegistry();
  onTestFinished(close);
  return registry;
}

export async function aRegistryForFile(): Promise<TestRegistry> {
  const { registry, close } = await openRegistry();
  afterAll(close);
  return registry;
}

export async function openRegistry(): Promise<{
  registry: TestRegistry;
  close: () => Promise<void>;
}> {
  const seen: SeenRequest[] = [];
  const answerers = new Map<string, Answerer>();
  const server = createServer((request, response) => {
    const url = request.url ?? "";
    seen.push({ url, authorization: request.headers.authorization });
    const answerer = answerers.get(decodeURIComponent(url.split("?")[0] ?? ""));
    if (answerer !== undefined) answerer(request, response);
    else response.writeHead(404, { "content-type": "application/json" }).end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/`;
  const packages = new Map<string, { latest: string; versions: Record<string, object> }>();

  return {
    registry: {
      url,
      port,
      seen,
      on: (path, answer) => answerers.set(path, answer),
      add(name, version, archive, dist = {}) {
        const path = `/${name}/-/${name.split("/").at(-1)}-${version}.tgz`;
        const announced = {
          tarball: url + path.slice(1),
          integrity: integrityOf(archive),
          ...dist,
        };
        const known = packages.get(name) ?? { latest: version, versions: {} };
        known.latest = version;
        known.versions[version] = { name, version, dist: announced };
        packages.set(name, known);
        answerers.set(`/${name}`, (_request, response) => {
          const body = { name, "dist-tags": { latest: known.latest }, versions: known.versions };
          response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
        });
        answerers.set(path, (_request, response) => {
          response.writeHead(200, { "content-type": "application/octet-stream" }).end(archive);
        });
      },
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
