import { expect, test } from "vitest";
import { aTokenIssuer } from "../../test/support/token-issuer.ts";
import { cooldownMs, createKeySet, keptMs, retryMs } from "./key-set.ts";

async function aKeySet() {
  const issuer = await aTokenIssuer();
  const state = { now: 0, reads: 0, answers: true, troubles: [] as string[] };
  const findKey = createKeySet({
    read: async () => {
      state.reads += 1;
      if (!state.answers) throw new Error("away");
      return JSON.stringify(issuer.keySet());
    },
    now: () => state.now,
    onTrouble: (event) => state.troubles.push(event),
  });
  const find = (kid: string) =>
    findKey({ alg: "ES256", kid }, { payload: "", signature: "" }).then(
      () => "found",
      (error: Error) => error.name,
    );
  return { issuer, state, find };
}

test("keys are read when the first token comes, once for all that come together", async () => {
  const { state, find } = await aKeySet();

  const found = await Promise.all([find("first"), find("first"), find("first")]);

  expect(found).toEqual(["found", "found", "found"]);
  expect(state.reads).toBe(1);
});

test("a key that is new to us is looked for once the cooldown is over", async () => {
  const { issuer, state, find } = await aKeySet();
  await find("first");
  await issuer.addKey("second");

  const early = await find("second");
  state.now = cooldownMs;
  const later = await find("second");

  expect([early, later]).toEqual(["JWKSNoMatchingKey", "found"]);
  expect(state.reads).toBe(2);
});

test("made-up names do not make us ask the issuer again and again", async () => {
  const { state, find } = await aKeySet();
  await find("first");
  state.now = cooldownMs;

  const found = [await find("made-up-1"), await find("made-up-2"), await find("made-up-3")];

  expect(found).toEqual(Array.from({ length: 3 }, () => "JWKSNoMatchingKey"));
  expect(state.reads).toBe(2);
});

test("a retired key is accepted no longer than keys are kept", async () => {
  const { issuer, state, find } = await aKeySet();
  await issuer.addKey("second");
  await find("first");
  issuer.retire("first");

  const before = await find("first");
  state.now = keptMs;
  const after = await find("first");

  expect([before, after]).toEqual(["found", "JWKSNoMatchingKey"]);
});

test("while the issuer is away, known keys go on and unknown ones are neither good nor bad", async () => {
  const { state, find } = await aKeySet();
  await find("first");
  state.answers = false;
  state.now = keptMs;

  expect(await find("first")).toBe("found");
  expect(await find("second")).toBe("KeysUnavailable");
  expect(state.troubles).toEqual(["TokenKeysNotRead"]);
  expect(state.reads).toBe(2);
});

test("a first read that failed is tried again after a moment", async () => {
  const { state, find } = await aKeySet();
  state.answers = false;
  const failed = [await find("first"), await find("first")];
  state.answers = true;

  const early = await find("first");
  state.now = retryMs;
  const later = await find("first");

  expect(failed).toEqual(["KeysUnavailable", "KeysUnavailable"]);
  expect([early, later]).toEqual(["KeysUnavailable", "found"]);
  expect(state.reads).toBe(2);
});

test.each(['{"keys":{}}', "[]", "no JSON", '{"keys":[{"kty":"oct","k":"AAAA","kid":"first"}]}'])(
  "%s is no set of public keys",
  async (text) => {
    const findKey = createKeySet({ read: async () => text, now: () => 0, onTrouble: () => {} });

    await expect(
      findKey({ alg: "RS256", kid: "first" }, { payload: "", signature: "" }),
    ).rejects.toThrow();
  },
);
