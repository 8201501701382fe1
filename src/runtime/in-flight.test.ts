import { EventEmitter, once } from "node:events";
import { expect, test } from "vitest";
import { createInFlight } from "./in-flight.ts";

const flight = { transitionKey: "t", idempotencyKey: undefined, blocks: true };

test("an instance is in flight while the work on it runs, also when it fails", async () => {
  const inFlight = createInFlight();
  const gate = new EventEmitter();
  const work = inFlight.enter("a", flight, async () => {
    await once(gate, "open");
    throw new Error("no");
  });

  expect(inFlight.current("a")).toMatchObject(flight);
  expect(inFlight.current("b")).toBeUndefined();
  gate.emit("open");
  await expect(work).rejects.toThrow("no");

  expect(inFlight.current("a")).toBeUndefined();
  expect(inFlight.count).toBe(0);
});

test("whoever waited for the end finds the instance free", async () => {
  const inFlight = createInFlight();
  const work = inFlight.enter("a", flight, async () => {});

  await inFlight.current("a")?.ended;

  expect(inFlight.current("a")).toBeUndefined();
  await work;
});

test("an end is remembered, and forgotten after a while", async () => {
  let now = 100;
  const inFlight = createInFlight(() => now);
  await inFlight.enter("a", flight, async () => {});

  expect(inFlight.lastEnd("a")).toBe(100);
  expect(inFlight.lastEnd("b")).toBeUndefined();
  now = 5000;
  await inFlight.enter("b", flight, async () => {});

  expect(inFlight.lastEnd("a")).toBeUndefined();
  expect(inFlight.lastEnd("b")).toBe(5000);
});
