/** What every state store promises (src/storage/state-store.ts). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { canonicalText, parseJson } from "../../src/engine/exact-json.ts";
import { readStateQuery } from "../../src/storage/state-filter.ts";
import type { StateStore } from "../../src/storage/state-store.ts";

export interface OpenStateStore {
  readonly store: StateStore;
  /** Lets time pass for the entries. */
  advance(ms: number): Promise<void> | void;
  close(): Promise<void>;
}

/** Where a kind of store differs, and may. */
export interface Deviations {
  /** Its component does not say which etag a write gave. */
  tellsNoEtag?: true;
  /** A server that cannot search by value. */
  cannotSearch?: true;
  /** It cannot name its writes. */
  namesNoWrites?: true;
}

export function stateStoreContract(
  name: string,
  open: () => Promise<OpenStateStore>,
  deviations: Deviations = {},
): void {
  describe(`${name} state store`, () => {
    let opened: OpenStateStore;
    let store: StateStore;
    beforeAll(async () => {
      opened = await open();
      ({ store } = opened);
    });
    afterAll(() => opened.close());

    let keys = 0;
    /** With what a key may have in it that an address or a pattern would choke on. */
    const aKey = () => `custom:${(keys += 1)} a/b?c=d&e#%41*ü`;
    const etagOf = async (key: string) => (await store.get(key))?.etag ?? "none";

    test("what was never set is not there", async () => {
      expect(await store.get(aKey())).toBeUndefined();
    });

    test.each([
      ["an object", `{"b":1,"a":{"list":[1,"two",null,true]}}`],
      ["a text", `"grün \\"quoted\\" \\n \u{1F600}"`],
      ["an empty text", `""`],
      ["false", "false"],
      ["null", "null"],
      ["a list", "[1,2,[]]"],
      ["numbers that a double cannot hold", `[9007199254740993,0.10,1.50,12345678901234567890.5]`],
    ])("%s comes back as it was set", async (_, text) => {
      const key = aKey();

      await store.set(key, parseJson(text));

      const entry = await store.get(key);
      expect(entry).toBeDefined();
      expect(canonicalText(entry!.value)).toBe(canonicalText(parseJson(text)));
    });

    test("a set replaces the entry and gives it another etag", async () => {
      const key = aKey();
      await store.set(key, { a: 1, b: 2 });
      const before = await etagOf(key);

      const written = await store.set(key, { a: 3 });

      const entry = await store.get(key);
      expect(entry).toMatchObject({ value: { a: 3 } });
      expect(entry?.value).not.toHaveProperty("b");
      expect(entry?.etag).not.toBe(before);
      const told = deviations.tellsNoEtag === true ? undefined : entry?.etag;
      expect(written).toEqual({ etag: told });
    });

    test("keys are apart, also when one starts with the other", async () => {
      const key = aKey();
      await store.set(key, "short");
      await store.set(`${key}:more`, "long");

      await store.delete(key);

      expect(await store.get(key)).toBeUndefined();
      expect(await store.get(`${key}:more`)).toMatchObject({ value: "long" });
    });

    describe("time to live", () => {
      test("an entry is there before its end and gone after it", async () => {
        const key = aKey();
        await store.set(key, 1, { ttlSeconds: 3600 });

        await opened.advance(3590_000);
        expect(await store.get(key)).toMatchObject({ value: 1 });

        await opened.advance(10_000);
        expect(await store.get(key)).toBeUndefined();
      });

      test("a set without one takes the end away", async () => {
        const key = aKey();
        await store.set(key, 1, { ttlSeconds: 60 });
        await store.set(key, 2);

        await opened.advance(120_000);

        expect(await store.get(key)).toMatchObject({ value: 2 });
      });

      test("a set with one moves the end", async () => {
        const key = aKey();
        await store.set(key, 1, { ttlSeconds: 60 });
        await opened.advance(40_000);
        await store.set(key, 2, { ttlSeconds: 60 });

        await opened.advance(40_000);

        expect(await store.get(key)).toMatchObject({ value: 2 });
      });

      test("an expired entry is absent to a write: new for one, gone for its etag", async () => {
        const key = aKey();
        await store.set(key, 1, { ttlSeconds: 60 });
        const etag = await etagOf(key);
        await opened.advance(61_000);

        expect(await store.set(key, 2, { when: { etag } })).toBe("conflict");
        expect(await store.get(key)).toBeUndefined();
        expect(await store.set(key, 3, { when: "absent" })).not.toBe("conflict");
        expect(await store.get(key)).toMatchObject({ value: 3 });
      });
    });

    describe("conditions", () => {
      test("a write over the etag it names succeeds once", async () => {
        const key = aKey();
        await store.set(key, 1);
        const etag = await etagOf(key);

        expect(await store.set(key, 2, { when: { etag } })).not.toBe("conflict");
        expect(await store.set(key, 3, { when: { etag } })).toBe("conflict");
        expect(await store.get(key)).toMatchObject({ value: 2 });
      });

      test("of many writes over one etag exactly one wins", async () => {
        const key = aKey();
        await store.set(key, 0);
        const etag = await etagOf(key);

        const all = await Promise.all(
          Array.from({ length: 10 }, (_, i) => store.set(key, i + 1, { when: { etag } })),
        );

        expect(all.filter((written) => written !== "conflict")).toHaveLength(1);
      });

      test("of many first writes of a key exactly one wins", async () => {
        const key = aKey();

        const all = await Promise.all(
          Array.from({ length: 10 }, (_, i) => store.set(key, i, { when: "absent" })),
        );

        expect(all.filter((written) => written !== "conflict")).toHaveLength(1);
        expect(await store.set(key, "late", { when: "absent" })).toBe("conflict");
      });

      test("an etag that fits nothing is a conflict, and writes nothing", async () => {
        const key = aKey();

        expect(await store.set(key, 1, { when: { etag: "12345" } })).toBe("conflict");
        expect(await store.get(key)).toBeUndefined();
      });

      test("the etag of a deleted entry does not fit its successor", async () => {
        const key = aKey();
        await store.set(key, 1);
        const etag = await etagOf(key);
        await store.delete(key);
        await store.set(key, 2);

        expect(await store.set(key, 3, { when: { etag } })).toBe("conflict");
      });

      test("a delete with a stale etag is a conflict, with the right one it deletes", async () => {
        const key = aKey();
        await store.set(key, 1);
        const stale = await etagOf(key);
        await store.set(key, 2);

        expect(await store.delete(key, { when: { etag: stale } })).toBe("conflict");
        expect(await store.get(key)).toMatchObject({ value: 2 });
        expect(await store.delete(key, { when: { etag: await etagOf(key) } })).toBe("deleted");
        expect(await store.get(key)).toBeUndefined();
      });

      test("deleting what is not there is done, whatever the etag", async () => {
        const key = aKey();

        expect(await store.delete(key)).toBe("deleted");
        expect(await store.delete(key, { when: { etag: "1" } })).toBe("deleted");
      });

      test.skipIf(deviations.namesNoWrites === true)(
        "a write that is repeated under its name does not conflict with itself",
        async () => {
          const key = aKey();
          await store.set(key, 1);
          const etag = await etagOf(key);
          const again = { when: { etag }, writer: "run:1" };
          const first = aKey();

          await store.set(key, 2, again);
          expect(await store.set(key, 2, again)).not.toBe("conflict");
          expect(await store.set(key, 3, { ...again, writer: "run:2" })).toBe("conflict");
          await store.set(first, 1, { when: "absent", writer: "run:1" });
          expect(await store.set(first, 1, { when: "absent", writer: "run:1" })).not.toBe(
            "conflict",
          );
          expect(await store.set(first, 1, { when: "absent", writer: "run:2" })).toBe("conflict");
        },
      );
    });

    test("many keys are deleted at once, those that are not there too", async () => {
      const [one, two, other] = [aKey(), aKey(), aKey()];
      for (const key of [one, two, other]) await store.set(key, 1);

      await store.deleteMany([one, two, aKey()]);

      expect(await store.get(one)).toBeUndefined();
      expect(await store.get(two)).toBeUndefined();
      expect(await store.get(other)).toMatchObject({ value: 1 });
    });

    describe.skipIf(deviations.cannotSearch === true)("deleting what matches", () => {
      const people = {
        "custom:ann": { team: "a", grade: { level: 3 }, active: true },
        "custom:bob": { team: "b", grade: { level: 3 }, active: false },
        "custom:cid": { team: "b", grade: { level: 12_345_678_901 }, active: null },
        "custom:dot": { team: "c", "it's": "odd", active: true },
        "custom:ten": ["team"],
        "engine:eve": { team: "b", grade: { level: 3 }, active: true },
      };

      test.each([
        ["EQ on a text", { EQ: { team: "b" } }, "bob cid"],
        ["EQ on a number below", { EQ: { "grade.level": 3 } }, "ann bob"],
        ["EQ on a large number", { EQ: { "grade.level": 12_345_678_901 } }, "cid"],
        ["EQ on a boolean", { EQ: { active: false } }, "bob"],
        ["EQ on null", { EQ: { active: null } }, "cid"],
        ["EQ on a text that looks like a number", { EQ: { "grade.level": "3" } }, ""],
        ["EQ on an odd name", { EQ: { "it's": "odd" } }, "dot"],
        ["EQ on a member that nobody has", { EQ: { "team.deeper": "b" } }, ""],
        ["IN", { IN: { team: ["a", "c"] } }, "ann dot"],
        ["AND", { AND: [{ EQ: { team: "b" } }, { EQ: { "grade.level": 3 } }] }, "bob"],
        ["OR", { OR: [{ EQ: { team: "a" } }, { EQ: { active: null } }] }, "ann cid"],
        [
          "OR in AND",
          {
            AND: [
              { EQ: { active: true } },
              { OR: [{ EQ: { team: "a" } }, { IN: { team: ["c", "d"] } }] },
            ],
          },
          "ann dot",
        ],
      ])("%s takes these and no others", async (_, filter, names) => {
        for (const [key, value] of Object.entries(people)) await store.set(key, value);
        const expected = names.split(" ").filter((short) => short !== "");

        const deleted = await store.deleteMatching("custom:", readStateQuery({ filter }));

        const left = [];
        for (const key of Object.keys(people)) {
          if ((await store.get(key)) === undefined) left.push(key.replace("custom:", ""));
        }
        expect(left).toEqual(expected);
        expect(deleted).toBe(expected.length);
      });

      test("an expired entry does not match", async () => {
        await store.set("custom:old", { team: "old" }, { ttlSeconds: 10 });
        await opened.advance(11_000);

        const filter = readStateQuery({ filter: { EQ: { team: "old" } } });
        expect(await store.deleteMatching("custom:", filter)).toBe(0);
      });
    });
  });
}
