import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createContention } from "./contention.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const aContention = () => createContention({ holdMs: 30, rememberedMs: 250, now: Date.now });

test("whoever comes alone is told so after a moment", async () => {
  const contention = aContention();

  const answer = contention.hasCompany("a");
  await vi.advanceTimersByTimeAsync(31);

  expect(await answer).toBe(false);
});

test("one who asks again after the answer is alone again", async () => {
  const contention = aContention();

  for (let time = 0; time < 3; time += 1) {
    const answer = contention.hasCompany("a");
    await vi.advanceTimersByTimeAsync(31);
    expect(await answer).toBe(false);
  }
});

test("two who come for the same are company, two who come for different things are not", async () => {
  const contention = aContention();

  const first = contention.hasCompany("a");
  const other = contention.hasCompany("b");
  const second = contention.hasCompany("a");

  expect(await first).toBe(true);
  expect(await second).toBe(true);
  await vi.advanceTimersByTimeAsync(31);
  expect(await other).toBe(false);
});

test("a race goes on as long as somebody loses, and ends", async () => {
  const contention = aContention();
  contention.lost("a");

  for (let straggler = 0; straggler < 5; straggler += 1) {
    await vi.advanceTimersByTimeAsync(200);
    expect(await contention.hasCompany("a")).toBe(true);
  }
  await vi.advanceTimersByTimeAsync(250);
  const late = contention.hasCompany("a");
  await vi.advanceTimersByTimeAsync(31);

  expect(await late).toBe(false);
});

test("somebody who loses while one waits is company", async () => {
  const contention = aContention();

  const waiting = contention.hasCompany("a");
  contention.lost("a");

  expect(await waiting).toBe(true);
});
