import { expect, test } from "vitest";
import { StorageUnavailable } from "../../engine/storage-unavailable.ts";
import { fewAtOnce } from "./few-at-once.ts";

/** A piece of work that ends when it is told to. */
function held() {
  let begun = false;
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const work = async () => {
    begun = true;
    await ended;
    return "done";
  };
  return { work, end, hasBegun: () => begun };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("so many are under way, the others follow in the order they came", async () => {
  const inTurn = fewAtOnce(2, 60_000);
  const jobs = Array.from({ length: 5 }, held);
  const ends = jobs.map(({ work }) => inTurn(work));
  const begun = () => jobs.map(({ hasBegun }) => hasBegun());

  await turn();
  expect(begun()).toEqual([true, true, false, false, false]);
  jobs[1]!.end();
  await turn();
  expect(begun()).toEqual([true, true, true, false, false]);
  for (const { end } of jobs) end();

  expect(await Promise.all(ends)).toEqual(Array.from({ length: 5 }, () => "done"));
});

test("one that fails makes room as well", async () => {
  const inTurn = fewAtOnce(1, 60_000);

  await expect(inTurn(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await inTurn(async () => 1)).toBe(1);
});

test("who waits too long is turned away, and takes nobody's place", async () => {
  const inTurn = fewAtOnce(1, 20);
  const first = held();
  const under = inTurn(first.work);

  await expect(inTurn(async () => 1)).rejects.toThrow(StorageUnavailable);
  first.end();
  await under;

  expect(await inTurn(async () => 2)).toBe(2);
});
