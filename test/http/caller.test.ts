import { expect, test } from "vitest";
import { aServer } from "../support/a-server.ts";

const identity = { sub: "ayse", act_sub: "clerk-7", role: "teller, approver teller", userid: "42" };

async function askFrom(remoteAddress: string, trustedPeers?: string[]) {
  const { app } = aServer(trustedPeers === undefined ? {} : { trustedPeers });
  app.get("/who", ({ caller }) => ({ ...caller, headers: caller.headers }));
  const answer = await app.inject({
    url: "/who",
    remoteAddress,
    headers: { ...identity, "x-other": "kept" },
  });
  return answer.json<{ actor?: string; behalfOf?: string; roles: string[]; headers: object }>();
}

test.each([
  "127.0.0.1",
  "127.8.8.8",
  "::1",
  "10.1.2.3",
  "172.31.0.1",
  "192.168.1.1",
  "fd00::1",
  "::ffff:10.0.0.1",
])("identity headers from %s are believed", async (address) => {
  expect(await askFrom(address)).toMatchObject({
    actor: "clerk-7",
    behalfOf: "ayse",
    roles: ["teller", "approver"],
    headers: { sub: "ayse", userid: "42", "x-other": "kept" },
  });
});

test.each(["8.8.8.8", "172.32.0.1", "2001:db8::1", "::ffff:8.8.8.8", "169.254.169.254"])(
  "a caller at %s is anonymous whatever it says, and its identity headers are dropped",
  async (address) => {
    const caller = await askFrom(address);

    expect(caller.actor).toBeUndefined();
    expect(caller.behalfOf).toBeUndefined();
    expect(caller.roles).toEqual([]);
    expect(caller.headers).toMatchObject({ "x-other": "kept" });
    expect(Object.keys(caller.headers)).not.toContain("sub");
    expect(Object.keys(caller.headers)).not.toContain("userid");
  },
);

test("the trusted peers are configurable: ranges, single addresses, nobody", async () => {
  expect((await askFrom("203.0.113.9", ["203.0.113.0/24"])).actor).toBe("clerk-7");
  expect((await askFrom("203.0.113.9", ["203.0.113.9"])).actor).toBe("clerk-7");
  expect((await askFrom("2001:db8::9", ["2001:db8::/32"])).actor).toBe("clerk-7");
  expect((await askFrom("127.0.0.1", ["203.0.113.9"])).actor).toBeUndefined();
  expect((await askFrom("127.0.0.1", [])).actor).toBeUndefined();
});

test.each(["nobody", "10.0.0.0/33", "10.0.0.0/x", "::1/129"])(
  "a trusted peer '%s' is refused at start by name",
  (peer) => {
    expect(() => aServer({ trustedPeers: [peer] })).toThrow(`'${peer}' is not an address`);
  },
);

test("a caller without identity headers has no actor and no roles", async () => {
  const { app } = aServer();
  app.get("/who", ({ caller }) => caller);

  const answer = await app.inject({ url: "/who", headers: { sub: "  " } });

  expect(answer.json()).toMatchObject({ roles: [] });
  expect(answer.json()).not.toHaveProperty("behalfOf");
});
