/** A real registry on the loopback: verdaccio, with private packages, and nothing behind it. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { integrityOf } from "./a-registry.ts";

export interface Verdaccio {
  url: string;
  user: { npmUsername: string; npmPassword: string };
  token: string;
  /** What `npm publish` does with an archive that `npm pack` made. */
  publish(name: string, version: string, archive: Buffer): Promise<void>;
}

interface VerdaccioLibrary {
  runServer(config: object): Promise<Server>;
}

export async function aVerdaccioForFile(): Promise<Verdaccio> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-registry-"));
  const library = createRequire(import.meta.url)("verdaccio") as VerdaccioLibrary;
  const server = await library.runServer({
    self_path: folder,
    storage: join(folder, "storage"),
    auth: { htpasswd: { file: join(folder, "users"), max_users: 10 } },
    uplinks: {},
    packages: { "**": { access: "$authenticated", publish: "$authenticated" } },
    log: { type: "stdout", format: "json", level: "fatal" },
    web: { enable: false },
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
    await rm(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const user = { npmUsername: "deployer", npmPassword: "correct-horse:battery" };

  const put = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const answer = await fetch(url + path, {
      method: "PUT",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as { token: string };
  };
  const { token } = await put("-/user/org.couchdb.user:deployer", {
    name: user.npmUsername,
    password: user.npmPassword,
  });

  return {
    url,
    user,
    token,
    async publish(name, version, archive) {
      const file = `${name}-${version}.tgz`;
      const dist = { integrity: integrityOf(archive), tarball: `${url}${name}/-/${file}` };
      await put(
        encodeURIComponent(name),
        {
          _id: name,
          name,
          "dist-tags": { latest: version },
          versions: { [version]: { name, version, dist } },
          _attachments: {
            [file]: {
              content_type: "application/octet-stream",
              data: archive.toString("base64"),
              length: archive.length,
            },
          },
        },
        { authorization: `Bearer ${token}` },
      );
    },
  };
}
