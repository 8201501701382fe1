import { afterEach, expect, test } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import type { Instance, Origin } from "../engine/instance.ts";
import type { Standing } from "../storage/change-feed.ts";
import { asks, readMessage, waits, wrote } from "./change-message.ts";
import { createInstanceChanges, type InstanceChanges } from "./changes.ts";

const opened: InstanceChanges[] = [];
afterEach(() => {
  for (const changes of opened.splice(0)) changes.close();
});

/** A node whose messages are kept, and which looks at what the test says. */
function aNode({ lookMs = 600_000 } = {}) {
  const said: string[] = [];
  const standings = new Map<string, Standing>();
  const looks: (readonly string[])[] = [];
  const changes = createInstanceChanges({
    feed: {
      say: async (messages) => void said.push(...messages),
      standings: async (ids) => {
        looks.push(ids);
        return ids.flatMap((id) => standings.get(id) ?? []);
      },
    },
    nodeId: "here",
    lookMs,
    dice: () => 0.5,
    now: () => performance.now(),
    onTrouble: (event) => {
      throw new Error(event);
    },
  });
  opened.push(changes);
  return { changes, said, standings, looks };
}

const instance = (id: string, origin?: Partial<Origin>) => ({ id, origin }) as unknown as Instance;

function watching(changes: InstanceChanges, id: string) {
  const seen = { changes: 0 };
  const watch = changes.watch(id, () => {
    seen.changes += 1;
  });
  return Object.assign(seen, watch);
}

const toldIds = (said: readonly string[]) =>
  said.map(readMessage).flatMap((message) => (message?.kind === "wrote" ? message.ids : []));

test("a write wakes those who watch the instance, and nobody else", () => {
  const { changes } = aNode();
  const one = watching(changes, "1");
  const two = watching(changes, "2");

  changes.written(instance("1"));

  expect([one.changes, two.changes]).toEqual([1, 0]);
});

test("a child's write wakes those who watch its parent, or one above it, or the child with its parent", () => {
  const { changes } = aNode();
  const parent = watching(changes, "parent");
  const root = watching(changes, "root");
  const other = watching(changes, "other");
  other.saw(1, ["child"]);

  changes.written(
    instance("child", { parent: { id: "parent" } as Origin["parent"], ancestors: ["root"] }),
  );

  expect([parent.changes, root.changes, other.changes]).toEqual([1, 1, 1]);
});

test("somebody who has closed their watch hears no more", () => {
  const { changes } = aNode();
  const watch = watching(changes, "1");
  watch.saw(1, ["child"]);
  watch.close();

  changes.written(instance("1"));
  changes.written(instance("child"));

  expect(watch.changes).toBe(0);
});

test("nothing is announced while no other node waits", async () => {
  const { changes, said } = aNode();
  changes.heard(waits("here"));

  changes.written(instance("1"));
  await new Promise((resolve) => setTimeout(resolve, 60));

  expect(said).toEqual([]);
});

test("while another node waits, writes are announced, those of a moment together", async () => {
  const { changes, said } = aNode();
  changes.heard(waits("there"));

  for (let i = 0; i < 100; i += 1) changes.written(instance(String(i)));

  await eventually(() => expect(toldIds(said)).toHaveLength(100));
  expect(said.length).toBeLessThanOrEqual(2);
});

test("a node says that it waits when its first reader comes, and whenever one asks", async () => {
  const { changes, said } = aNode();
  changes.heard(asks("there"));
  expect(said).toEqual([]);

  watching(changes, "1");
  watching(changes, "2");
  expect(said).toEqual([waits("here")]);
  changes.heard(asks("there"));

  expect(said).toEqual([waits("here"), waits("here")]);
});

test("what another node announces wakes, what this one says itself does not", () => {
  const { changes } = aNode();
  const watch = watching(changes, "1");

  for (const message of wrote("here", ["1"])) changes.heard(message);
  expect(watch.changes).toBe(0);
  for (const message of wrote("there", ["1", "2"])) changes.heard(message);

  expect(watch.changes).toBe(1);
});

test("an announcement of too many to name makes the node look", async () => {
  const { changes, standings, looks } = aNode();
  const behind = watching(changes, "1");
  behind.saw(3, []);
  const upToDate = watching(changes, "2");
  upToDate.saw(7, []);
  standings.set("1", { id: "1", rev: 4, family: "" });
  standings.set("2", { id: "2", rev: 7, family: "" });

  changes.heard("wrote there");

  await eventually(() => expect(behind.changes).toBeGreaterThan(0));
  expect(upToDate.changes).toBe(0);
  expect(looks[0]).toEqual(["1", "2"]);
});

test("who comes to listen asks who waits, and looks for what was missed", async () => {
  const { changes, said, looks } = aNode();
  changes.connected();
  expect(said).toEqual([asks("here")]);
  expect(looks).toEqual([]);

  watching(changes, "1");
  changes.connected();

  expect(said).toEqual([asks("here"), waits("here"), asks("here"), waits("here")]);
  await eventually(() => expect(looks.length).toBeGreaterThan(0));
});

test("a node looks again and again: at newer revisions, at changed children, at what is gone", async () => {
  const { changes, standings } = aNode({ lookMs: 10 });
  standings.set("1", { id: "1", rev: 1, family: "" });
  const watch = watching(changes, "1");
  watch.saw(1, []);
  const wakesFor = async (change: () => void) => {
    const before = watch.changes;
    change();
    await eventually(() => expect(watch.changes).toBeGreaterThan(before));
  };

  await wakesFor(() => standings.set("1", { id: "1", rev: 2, family: "" }));
  watch.saw(2, []);
  await wakesFor(() => standings.set("1", { id: "1", rev: 2, family: "child:1" }));
  await wakesFor(() => standings.delete("1"));
});
