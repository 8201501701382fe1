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
  return { sent, gather: createGather({ lanes: 1, largest: 64, one, many }) };
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
