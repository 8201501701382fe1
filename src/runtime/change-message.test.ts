import { expect, test } from "vitest";
import { longestMessage } from "../storage/change-feed.ts";
import { asks, readMessage, waits, wrote } from "./change-message.ts";

const node = crypto.randomUUID();
const someIds = (count: number) => Array.from({ length: count }, () => crypto.randomUUID());
const idsIn = (messages: readonly string[]) =>
  messages.map(readMessage).flatMap((read) => (read?.kind === "wrote" ? read.ids : []));

test("what was said is read back", () => {
  const ids = someIds(3);

  expect(readMessage(asks(node))).toEqual({ kind: "asks", node });
  expect(readMessage(waits(node))).toEqual({ kind: "waits", node });
  expect(wrote(node, ids).map(readMessage)).toEqual([{ kind: "wrote", node, ids }]);
});

test("many ids travel in several messages, none of them too long", () => {
  const ids = someIds(700);

  const messages = wrote(node, ids);

  expect(messages.length).toBeGreaterThan(1);
  expect(idsIn(messages)).toEqual(ids);
  expect(Math.max(...messages.map((message) => message.length))).toBeLessThanOrEqual(
    longestMessage,
  );
});

test("too many to be told one by one are one message without ids", () => {
  const messages = wrote(node, someIds(5000));

  expect(messages.map(readMessage)).toEqual([{ kind: "wrote", node, ids: [] }]);
});

test.each(["", "wrote", "sings loudly"])("'%s' is nothing this version knows", (text) => {
  expect(readMessage(text)).toBeUndefined();
});
