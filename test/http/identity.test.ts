import { createHmac, createPublicKey } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadConfig, type Config } from "../../src/config.ts";
import { callerOf, withRoleParameter } from "../../src/http/caller.ts";
import { describeIdentity, identityMode } from "../../src/http/identity-mode.ts";
import { createLog } from "../../src/log.ts";
import { aWebServer, aWebServerForFile } from "../support/a-web-server.ts";
import { aWorkflow } from "../support/a-workflow.ts";
import { aFolder } from "../support/start-cli.ts";
import { codeOf, instancesOf } from "../support/instances-of.ts";
import { publishPath, startRuntime, startRuntimeForFile } from "../support/start-runtime.ts";
import {
  aTokenIssuer,
  audienceName,
  goodClaims,
  handmadeToken,
  issuerName,
  secondsFromNow,
} from "../support/token-issuer.ts";

const issuer = await aTokenIssuer("RS256");
const stranger = await aTokenIssuer("RS256");
await issuer.addKey("curve", "ES256");
await issuer.addKey("edwards", "EdDSA");
await issuer.addKey("long", "RS512");
const keys = await aWebServerForFile((_asked, _request, response) =>
  response.end(JSON.stringify(issuer.keySet())),
);
const jwt = {
  "Auth.Mode": "jwt",
  "Auth.Jwt.JwksUrl": `${keys.url}/keys`,
  "Auth.Jwt.Issuer": issuerName,
  "Auth.Jwt.Audience": [audienceName],
} as const satisfies Partial<Config>;
const app = await startRuntimeForFile({
  settings: { ...jwt, "Http.CorsOrigins": ["https://shop.test"] },
});
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const good = async (claims = {}) => bearer(await issuer.token(claims));

const workflow = aWorkflow("visit")
  .state("open")
  .transition("note")
  .transition("close", { to: "closed", roles: [{ role: "closer", grant: "allow" }] })
  .state("closed", { type: "finish", subType: "success" });
await app.post(publishPath, workflow, await good());
const visits = instancesOf(app, "visit");

async function begun(headers: Record<string, string>): Promise<Record<string, unknown>> {
  const id = await visits.begin({}, { headers });
  const { body } = await visits.get(id, { headers });
  return (body as { metadata: Record<string, unknown> }).metadata;
}

describe("a good token", () => {
  test("its subject acts, and acts for itself", async () => {
    expect(await begun(await good())).toMatchObject({
      createdBy: "ayse",
      createdByBehalfOf: "ayse",
    });
  });

  test.each([
    ["act.sub", { act: { sub: "clerk-7" } }],
    ["act_sub", { act_sub: "clerk-7" }],
  ])("an actor in %s acts for the subject", async (_, claims) => {
    expect(await begun(await good(claims))).toMatchObject({
      createdBy: "clerk-7",
      createdByBehalfOf: "ayse",
    });
  });

  test.each<[string, object]>([
    ["a text", { role: "teller, closer" }],
    ["a list", { roles: ["teller", "closer"] }],
    ["both claims", { role: "teller", roles: ["closer"] }],
  ])("roles are read from %s", async (_, claims) => {
    const headers = await good(claims);
    const id = await visits.begin({}, { headers });

    expect((await visits.send(id, "close", {}, { headers })).status).toBe(200);
  });

  test("without the role of the grant it is refused", async () => {
    const headers = await good({ roles: ["teller"] });
    const id = await visits.begin({}, { headers });

    expect(codeOf(await visits.send(id, "close", {}, { headers }))).toBe(
      "403 forbidden.Authorization:110001",
    );
  });

  test("the history has the claims as the headers of a gateway, and no token", async () => {
    const headers = await good({
      act: { sub: "clerk-7" },
      role: ["teller", "closer"],
      client_id: "branch-app",
      given_name: "Ayşe",
      uid: 42,
    });
    const id = await visits.begin({}, { headers });

    const { body, text } = await app.get(`${visits.path}/${id}/transitions`, headers);

    expect(body).toMatchObject({
      transitions: [
        {
          header: {
            sub: "ayse",
            act_sub: "clerk-7",
            role: "teller,closer",
            client_id: "branch-app",
            given_name: "Ayşe",
            userid: "42",
            authorization: "***",
          },
        },
      ],
    });
    expect(text).not.toContain(headers.authorization.slice(7, 40));
  });

  test.each(["curve", "edwards"])("may be signed with the key '%s'", async (kid) => {
    const token = await issuer.token({}, { kid });

    expect((await visits.get("none", { headers: bearer(token) })).status).toBe(404);
  });

  test("may have one of several audiences, and be a little late", async () => {
    const headers = await good({ aud: ["other", audienceName], exp: secondsFromNow(-5) });

    expect((await visits.get("none", { headers })).status).toBe(404);
  });

  test("is taken whatever the letter case of 'Bearer'", async () => {
    const headers = { authorization: `bearer  ${await issuer.token()}` };

    expect((await visits.get("none", { headers })).status).toBe(404);
  });
});

describe("identity headers beside a token", () => {
  const spoofed = { sub: "boss", act_sub: "boss", role: "closer", userid: "1" };

  test("count for nothing, even from a trusted peer", async () => {
    const headers = { ...(await good()), ...spoofed };
    const id = await visits.begin({}, { headers });

    const answer = await visits.send(id, "close", {}, { headers });
    const { body } = await app.get(`${visits.path}/${id}/transitions`, headers);

    expect(codeOf(answer)).toBe("403 forbidden.Authorization:110001");
    const [{ header, createdBy }] = (
      body as { transitions: [{ header: object; createdBy: string }] }
    ).transitions;
    expect(createdBy).toBe("ayse");
    expect(header).toMatchObject({ sub: "ayse", act_sub: "ayse" });
    expect(header).not.toHaveProperty("role");
    expect(header).not.toHaveProperty("userid");
  });
});

const rsaPublicKey = () =>
  createPublicKey({ key: issuer.keySet().keys[0]! as never, format: "jwk" }).export({
    format: "pem",
    type: "spki",
  }) as string;

/** Signed with the public key as if it were a secret. */
function confused(): string {
  const unsigned = handmadeToken({ alg: "HS256", kid: "first" }, goodClaims()).slice(0, -1);
  const signature = createHmac("sha256", rsaPublicKey()).update(unsigned).digest("base64url");
  return `${unsigned}.${signature}`;
}

async function tampered(): Promise<string> {
  const [head, , signature] = (await issuer.token()).split(".");
  const claims = Buffer.from(JSON.stringify(goodClaims({ sub: "boss" }))).toString("base64url");
  return [head, claims, signature].join(".");
}

const withItsOwnKey = () =>
  stranger.token({}, { jwk: stranger.keySet().keys[0], jku: `${keys.url}/other` });

describe("a token that is not good is 401", () => {
  test.each<[string, RegExp, () => string | Promise<string>]>([
    ["unsigned", /algorithm/, () => handmadeToken({ alg: "none" }, goodClaims())],
    ["unsigned, in other letters", /algorithm/, () => handmadeToken({ alg: "nOnE" }, goodClaims())],
    ["the public key used as a secret", /algorithm/, confused],
    ["an algorithm that is not listed", /algorithm/, () => issuer.token({}, { kid: "long" })],
    [
      "a key of another kind",
      /key/,
      () => handmadeToken({ alg: "ES256", kid: "first" }, goodClaims(), "AAAA"),
    ],
    ["expired", /expired/, () => issuer.token({ exp: secondsFromNow(-3600) })],
    ["without an end", /expires/, () => issuer.token({ exp: undefined })],
    ["an end that is no number", /expires|malformed|claim/, () => issuer.token({ exp: "soon" })],
    ["not valid yet", /not valid yet/, () => issuer.token({ nbf: secondsFromNow(3600) })],
    ["another audience", /audience/, () => issuer.token({ aud: "other" })],
    ["no audience", /audience/, () => issuer.token({ aud: undefined })],
    ["another issuer", /issuer/, () => issuer.token({ iss: "https://evil.test" })],
    ["no issuer", /issuer/, () => issuer.token({ iss: undefined })],
    [
      "an unknown key",
      /key that the issuer/,
      () => handmadeToken({ alg: "RS256", kid: "made-up" }, goodClaims(), "AAAA"),
    ],
    ["a stranger's key under a known name", /signature/, () => stranger.token()],
    ["a stranger's key that it brings along", /signature/, withItsOwnKey],
    ["changed claims", /signature/, tampered],
    [
      "a critical header nobody knows",
      /malformed/,
      () => handmadeToken({ alg: "RS256", kid: "first", crit: ["x"], x: 1 }, goodClaims(), "AAAA"),
    ],
    ["no token at all", /malformed/, () => "hello"],
    ["five parts", /malformed/, () => "a.b.c.d.e"],
    ["parts that are no JSON", /malformed/, () => "aaaa.bbbb.cccc"],
    ["a name with a control character", /characters/, () => issuer.token({ sub: "a\u0000b" })],
    ["a huge token", /longer than 16384/, () => issuer.token({ filler: "x".repeat(20_000) })],
  ])("%s", async (_, reason, make) => {
    const answer = await visits.get("none", { headers: bearer(await make()) });

    expect(codeOf(answer)).toBe("401 unauthorized.Authorization:110011");
    expect((answer.body as { detail: string }).detail).toMatch(reason);
    expect(answer.headers["www-authenticate"]).toMatch(
      /^Bearer realm="millrace", error="invalid_token", error_description="[^"]+"$/,
    );
  });

  test.each(["Basic YTpi", "Bearer", "Bearer a b", "token"])(
    "an Authorization header such as '%s'",
    async (authorization) => {
      const answer = await visits.get("none", { headers: { authorization } });

      expect(codeOf(answer)).toBe("401 unauthorized.Authorization:110011");
    },
  );

  test("a request with a bad token leaves nothing behind", async () => {
    const answer = await visits.start({ key: "never" }, { headers: bearer(await tampered()) });

    expect(answer.status).toBe(401);
    expect((await visits.get("never", { headers: await good() })).status).toBe(404);
  });
});

describe("without a token", () => {
  test("every route of the API is 401, with what is asked for", async () => {
    const answers = await Promise.all([
      visits.get("none"),
      visits.list(),
      visits.start({}),
      app.post(publishPath, workflow),
      app.get("/api/v1.0/core/workflows/visit/instances"),
      app.get("/%61pi/v1/core/workflows/visit/instances"),
    ]);

    expect(answers.map(codeOf)).toEqual(answers.map(() => "401 unauthorized.Authorization:110010"));
    expect(answers[0].headers["www-authenticate"]).toBe('Bearer realm="millrace"');
  });

  test("probes are answered", async () => {
    expect((await app.get("/health")).status).toBe(200);
  });

  test("a browser's preflight passes, and it may read the refusal", async () => {
    const origin = "https://shop.test";
    const asks = { origin, "access-control-request-method": "GET" };

    const preflight = await app.send("OPTIONS", visits.path, undefined, asks);
    const refused = await app.get(visits.path, { origin });

    expect(preflight.status).toBe(204);
    expect(refused.status).toBe(401);
    expect(refused.headers["access-control-allow-origin"]).toBe(origin);
    expect(refused.headers["access-control-expose-headers"]).toContain("www-authenticate");
  });

  test("it is let in as nobody where that is wanted, but not with a bad one", async () => {
    const open = await startRuntime({ settings: { ...jwt, "Auth.AllowAnonymous": true } });
    const path = "/api/v1/core/workflows/visit/instances";

    expect((await open.get(path, { sub: "boss", role: "closer" })).status).toBe(404);
    expect((await open.get(path, bearer("hello"))).status).toBe(401);
  });
});

describe("a peer that needs no token", () => {
  test("is believed what its headers say, unless it brings a token", async () => {
    const settings = { ...jwt, "Auth.Jwt.PeersWithoutToken": ["loopback"] };
    const runtime = await startRuntime({ settings });
    await runtime.publish(workflow);
    const instances = instancesOf(runtime, "visit");
    const boss = { act_sub: "boss", role: "closer" };
    const id = await instances.begin({}, { headers: boss });

    const withToken = await instances.send(
      id,
      "close",
      {},
      {
        headers: { ...boss, ...(await good()) },
      },
    );
    const withBadToken = await instances.send(
      id,
      "close",
      {},
      {
        headers: { ...boss, ...bearer("hello") },
      },
    );
    const without = await instances.send(id, "close", {}, { headers: boss });

    expect([withToken.status, withBadToken.status, without.status]).toEqual([403, 401, 200]);
    expect((await instances.read(id)).metadata).toMatchObject({ createdBy: "boss" });
  });
});

describe("the keys", () => {
  test("are fetched once for many requests", async () => {
    const headers = await good({ jti: "again" });
    await visits.get("none", { headers: await good({ jti: "before" }) });
    const before = keys.asked.length;

    await Promise.all(Array.from({ length: 20 }, () => visits.get("none", { headers })));

    expect(keys.asked.length).toBe(before);
  });

  test("that cannot be read make it 503, not 401", async () => {
    const away = await aWebServer((_asked, _request, response) => response.writeHead(500).end());
    const runtime = await startRuntime({ settings: { ...jwt, "Auth.Jwt.JwksUrl": away.url } });

    const answer = await runtime.get("/api/v1/core/workflows/visit/instances", await good());

    expect(codeOf(answer)).toBe("503 transient.Authorization:110012");
    expect(answer.headers["retry-after"]).toBe("1");
  });

  test("may come from a file", async () => {
    const file = join(await aFolder(), "keys.json");
    await writeFile(file, JSON.stringify(issuer.keySet()));
    const settings = { ...jwt, "Auth.Jwt.JwksUrl": "", "Auth.Jwt.JwksFile": file };
    const runtime = await startRuntime({ settings });
    const path = "/api/v1/core/workflows/visit/instances";

    expect((await runtime.get(path, await good())).status).toBe(404);
    expect((await runtime.get(path, bearer(await stranger.token()))).status).toBe(401);
  });
});

test("roles may stand at a path, or under a name with dots", async () => {
  const settings = {
    ...jwt,
    "Auth.Jwt.RolesClaim": ["realm_access.roles", "https://shop.test/roles"],
  };
  const runtime = await startRuntime({ settings });
  await runtime.post(publishPath, workflow, await good());
  const instances = instancesOf(runtime, "visit");
  const closes = async (claims: object) => {
    const headers = await good(claims);
    const id = await instances.begin({}, { headers });
    return (await instances.send(id, "close", {}, { headers })).status;
  };

  expect(await closes({ realm_access: { roles: ["closer"] } })).toBe(200);
  expect(await closes({ "https://shop.test/roles": ["closer"] })).toBe(200);
  expect(await closes({ roles: ["closer"] })).toBe(403);
});

test.each<[string, Partial<Config>]>([
  ["a peer that is not trusted", { "Http.TrustedPeers": ["203.0.113.9"] }],
  ["mode none", { "Auth.Mode": "none" }],
])("identity headers are ignored: %s", async (_, settings) => {
  const runtime = await startRuntime({ settings });
  await runtime.publish(workflow);
  const instances = instancesOf(runtime, "visit");
  const headers = { sub: "boss", act_sub: "boss", role: "closer" };

  const id = await instances.begin({}, { headers });
  const closed = await instances.send(id, "close", {}, { headers });

  expect(codeOf(closed)).toBe("403 forbidden.Authorization:110001");
  expect((await instances.read(id)).metadata).not.toHaveProperty("createdBy");
  expect((await instances.history(id))[0]?.header).not.toHaveProperty("sub");
});

test("the parameter Role counts for who may say so and has no role header", () => {
  expect(withRoleParameter(callerOf({}, true), "a, b")).toEqual(["a", "b"]);
  expect(withRoleParameter(callerOf({ role: "c" }, true), "a")).toEqual(["c"]);
  expect(withRoleParameter(callerOf({}, true), undefined)).toEqual([]);
  expect(withRoleParameter(callerOf({}, false), "a")).toEqual([]);
});

describe("the start", () => {
  const configOf = (flags: Partial<Config>) =>
    loadConfig({ env: {}, flags, read: () => "{}" }).config;
  const complete = { ...jwt, "Server.Host": "0.0.0.0" };

  test.each<[Partial<Config>, string]>([
    [{}, "identity headers, believed from loopback, private"],
    [{ "Server.Host": "127.0.0.1" }, "identity headers, believed from loopback, private"],
    [{ "Server.Host": "::1" }, "identity headers, believed from loopback, private"],
    [
      { "Server.Host": "0.0.0.0", "Auth.Mode": "headers", "Http.TrustedPeers": ["10.1.0.7"] },
      "identity headers, believed from 10.1.0.7",
    ],
    [complete, `bearer tokens of ${issuerName} for ${audienceName}`],
    [
      { ...complete, "Auth.AllowAnonymous": true },
      `bearer tokens of ${issuerName} for ${audienceName}; without one as nobody`,
    ],
    [
      { ...complete, "Auth.Jwt.PeersWithoutToken": ["10.1.0.7"] },
      `bearer tokens of ${issuerName} for ${audienceName}; identity headers from 10.1.0.7`,
    ],
    [{ "Auth.Mode": "none" }, "none: everybody is nobody"],
    [
      { "Auth.Mode": "none", "Server.Host": "0.0.0.0", "Auth.AllowAnonymous": true },
      "none: everybody is nobody",
    ],
  ])("%j: %s", (flags, expected) => {
    expect(describeIdentity(identityMode(configOf(flags)))).toBe(expected);
  });

  test.each<[Partial<Config>, RegExp]>([
    [{ "Server.Host": "0.0.0.0" }, /'0\.0\.0\.0'.*Auth\.Mode=jwt.*Auth\.Mode=headers/],
    [{ "Server.Host": "::" }, /'::'/],
    [{ "Server.Host": "10.1.2.3" }, /'10\.1\.2\.3'/],
    [{ "Server.Host": "mill.example" }, /'mill\.example'/],
    [{ "Server.Host": "0.0.0.0", "Auth.Mode": "none" }, /Auth\.AllowAnonymous=true/],
    [{ "Auth.Mode": "jwt" }, /JwksUrl.*Issuer.*Audience are not set/],
    [{ ...complete, "Auth.Jwt.Issuer": "" }, /Auth\.Jwt\.Issuer is not set/],
    [{ ...complete, "Auth.Jwt.Audience": [] }, /Auth\.Jwt\.Audience is not set/],
    [{ ...complete, "Auth.Jwt.JwksFile": "keys.json" }, /both set/],
  ])("%j is refused with the remedy", (flags, message) => {
    expect(() => identityMode(configOf(flags))).toThrow(message);
  });

  test.each(["HS256", "none", "RS1"])("the algorithm %s cannot be configured", (algorithm) => {
    expect(() => configOf({ "Auth.Jwt.Algorithms": [algorithm] })).toThrow(/RS256/);
  });

  test("says in the log how callers are known", async () => {
    const lines: string[] = [];
    const log = createLog({ level: "info", destination: { write: (line) => lines.push(line) } });
    await startRuntime({ log, settings: { "Http.TrustedPeers": ["10.1.0.7"] } });

    const [line] = lines.map((text) => JSON.parse(text) as object);
    expect(line).toMatchObject({
      msg: "Identity",
      mode: "headers",
      callers: "identity headers, believed from 10.1.0.7",
    });
  });

  test("a public address without identity is refused before anything is opened", async () => {
    const databaseUrl = "postgres://nobody@nowhere.test/none";
    const settings = { "Server.Host": "0.0.0.0" };

    await expect(startRuntime({ databaseUrl, settings })).rejects.toThrow(
      /'0\.0\.0\.0' \(MILLRACE_HOST\)/,
    );
  });
});

test("the deployment API asks the runtime with the token it was asked with", async () => {
  const both = await startRuntime({ settings: jwt, roles: ["api", "deploy"] });
  const publish = async (headers: Record<string, string>) => {
    const { status } = await fetch(both.deployUrl + publishPath, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(workflow),
    });
    return status;
  };

  expect(await publish({})).toBe(401);
  expect(await publish(await good())).toBe(200);
});
