import { expect, test } from "vitest";
import { isUuid } from "../engine/uuid.ts";
import { createIds } from "../ids.ts";
import { stableId } from "./stable-id.ts";

const key = `${createIds().uuid()}:onExecute:0:0`;

test("the same key makes the same id, another key or purpose another", () => {
  expect(stableId(key, "start")).toBe(stableId(key, "start"));
  const others = [
    stableId(`${key}#1`, "start"),
    stableId(key, "correlation"),
    stableId("k", "start"),
  ];

  expect(new Set([stableId(key, "start"), ...others]).size).toBe(4);
});

test.each([key, "anything else"])("it is a UUID of version 8 (%s)", (given) => {
  const id = stableId(given, "start");

  expect(isUuid(id)).toBe(true);
  expect(id).toMatch(/^.{14}8.{4}[89ab]/);
});

test("ids are in the order of the records they belong to", () => {
  let now = 1_700_000_000_000;
  const ids = createIds(() => (now += 5));
  const made = Array.from({ length: 50 }, () => stableId(`${ids.uuid()}:onEntry:0:0`, "start"));

  expect(made.toSorted()).toEqual(made);
});
