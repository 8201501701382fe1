import { expect, test } from "vitest";
import { StorageUnavailable } from "../../engine/storage-unavailable.ts";
import { createGather } from "./gather.ts";

/** Doubles numbers; negative ones make it fail, alone and whoever travels with them. */
function doubling(failure: () => Error) {
  const sent: number[][] = [];
  const many = async (items: number[]) => {
    sent.push(items);
    if (items.some((item) => item < 0)) throw failure();
    return items.map((item) => item * 2);
  };
  const one = async (item: number) => (await many([item]))[0]!;
  return { sent, gather: createGather({ lanes: 2, patienceMs: 1000, largest: 64, one, many }) };
}

const outcomes = async (promises: Promise<number>[]) =>
  (await Promise.allSettled(promises)).map((it) =>
    it.status === "fulfilled" ? it.value : (it.reason as Error).message,
  );

test("items that wait at the same moment travel together", async () => {
  const { sent, gather } = doubling(() => new Error("negative"));

  expect(await outcomes([1, 2, 3].map((item) => gather.add(item)))).toEqual([2, 4, 6]);
  expect(sent).toEqual([[1, 2, 3]]);
});

test("one that cannot be done does not keep the others from being done", async () => {
  const { sent, gather } = doubling(() => new Error("negative"));

  expect(await outcomes([1, -2, 3].map((item) => gather.add(item)))).toEqual([2, "negative", 6]);
  expect(sent).toEqual([[1, -2, 3], [1], [-2], [3]]);
});

test("when the database is away, nobody is tried again: the batch may have been done", async () => {
  const { sent, gather } = doubling(() => new StorageUnavailable("away"));

  const told = await outcomes([1, -2, 3].map((item) => gather.add(item)));

  expect(told).toEqual(["away", "away", "away"]);
  expect(sent).toEqual([[1, -2, 3]]);
});

test("what arrives during a batch goes together when it ends", async () => {
  const sent: number[][] = [];
  let end = () => {};
  const many = async (items: number[]) => {
    sent.push(items);
    if (sent.length === 1) {
      await new Promise<void>((resolve) => {
        end = resolve;
      });
    }
    return items;
  };
  const one = async (item: number) => (await many([item]))[0]!;
  const gather = createGather({ lanes: 2, patienceMs: 60_000, largest: 64, one, many });

  const first = gather.add(1);
  await new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });
  const others = [gather.add(2), gather.add(3)];
  end();

  expect(await Promise.all([first, ...others])).toEqual([1, 2, 3]);
  expect(sent).toEqual([[1], [2, 3]]);
});

test("a batch that takes long does not hold up the others for ever", async () => {
  const sent: number[][] = [];
  const many = async (items: number[]) => {
    sent.push(items);
    // The first never ends.
    if (sent.length === 1) await new Promise(() => {});
    return items;
  };
  const one = async (item: number) => (await many([item]))[0]!;
  const gather = createGather({ lanes: 2, patienceMs: 5, largest: 64, one, many });

  void gather.add(1);
  await new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });

  expect(await Promise.all([gather.add(2), gather.add(3)])).toEqual([2, 3]);
  expect(sent).toEqual([[1], [2, 3]]);
});

test("items with a key in common never travel together, and nobody overtakes one that waits", async () => {
  const sent: string[][] = [];
  const many = async (items: string[]) => {
    sent.push(items);
    return items;
  };
  const gather = createGather({
    lanes: 1,
    patienceMs: 1000,
    largest: 64,
    keysOf: (item) => item.split("+"),
    one: async (item) => (await many([item]))[0]!,
    many,
  });

  await Promise.all(["a", "a+b", "b+c", "d"].map((item) => gather.add(item)));

  expect(sent).toEqual([["a", "d"], ["a+b"], ["b+c"]]);
});
