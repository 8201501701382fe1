import { describe, expect, test } from "vitest";
import { createTurns } from "./turns.ts";

const quick = (turns: ReturnType<typeof createTurns<string>>, script: string) => {
  turns.add(script, "first");
  turns.next();
  turns.ended(script, 1, false);
};

describe("whose turn it is", () => {
  test("scripts take turns, however many calls of one are waiting", () => {
    const turns = createTurns<string>(10, () => 0);
    for (const script of ["a", "b"]) quick(turns, script);
    for (const job of ["a1", "a2", "a3"]) turns.add("a", job);
    turns.add("b", "b1");

    expect([1, 2, 3, 4, 5].map(() => turns.next())).toEqual(["a1", "b1", "a2", "a3", undefined]);
  });

  test("a script that has not run yet leaves one worker free", () => {
    const turns = createTurns<string>(2, () => 0);
    for (const job of ["a1", "a2"]) turns.add("a", job);
    turns.add("b", "b1");

    expect([turns.next(), turns.next(), turns.next()]).toEqual(["a1", "b1", undefined]);
  });

  test("a quick script may have all workers", () => {
    const turns = createTurns<string>(2, () => 0);
    quick(turns, "a");
    for (const job of ["a1", "a2"]) turns.add("a", job);

    expect([turns.next(), turns.next()]).toEqual(["a1", "a2"]);
  });

  test("slow scripts together leave one worker free", () => {
    const turns = createTurns<string>(3, () => 0);
    for (const script of ["a", "b", "c"]) {
      turns.add(script, "first");
      turns.next();
      turns.ended(script, 1000, true);
    }
    quick(turns, "good");
    for (const script of ["a", "b", "c", "good"]) turns.add(script, script);

    expect([turns.next(), turns.next(), turns.next()]).toEqual(["a", "b", "good"]);
    turns.ended("a", 1000, true);
    expect(turns.next()).toBe("c");
  });

  test("a script is slow when it took long, and for a minute after", () => {
    let now = 0;
    const turns = createTurns<string>(2, () => now);
    turns.add("a", "first");
    turns.next();
    turns.ended("a", 500, false);
    turns.add("a", "a1");
    turns.next();
    turns.add("b", "first");
    turns.next();
    turns.ended("b", 500, false);
    turns.add("b", "b1");
    expect(turns.next()).toBeUndefined();

    now = 61_000;
    expect(turns.next()).toBe("b1");
  });

  test("with one worker everybody has it in turn", () => {
    const turns = createTurns<string>(1, () => 0);
    turns.add("a", "a1");

    expect(turns.next()).toBe("a1");
  });

  test("a waiting job can be taken out, a running one cannot", () => {
    const turns = createTurns<string>(2, () => 0);
    turns.add("a", "a1");
    turns.add("a", "a2");
    turns.next();

    expect(turns.remove("a", "a1")).toBe(false);
    expect(turns.remove("a", "a2")).toBe(true);
    expect(turns.next()).toBeUndefined();
  });
});
