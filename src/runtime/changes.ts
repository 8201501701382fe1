/**
 * Wakes whoever waits for an instance to change, whichever node changes it.
 *
 * Written here: its watchers wake at once. Written elsewhere: the other node says so. It does only
 * while somebody else waits at all, which waiting nodes repeat every few seconds, and never more
 * than once in 25 ms, because a notification with every commit would halve the rate of commits.
 *
 * A message may be lost. So a node with watchers also looks for itself every few seconds, at all of
 * their instances in one statement.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Instance } from "../engine/instance.ts";
import type { ChangeFeed, Standing } from "../storage/change-feed.ts";
import type { InstanceStore } from "../storage/instance-store.ts";
import { asks, readMessage, waits, wrote } from "./change-message.ts";

export interface InstanceChanges {
  /** Says that this process has written the instance. */
  written(instance: Instance): void;
  /** `onChange` is called whenever the instance may look different; it returns at once. */
  watch(id: string, onChange: () => void): Watch;
  /** What a node said on the channel; this one hears itself too. */
  heard(message: string): void;
  /** The channel is open, perhaps after a while in which nothing was heard. */
  connected(): void;
  close(): void;
}

export interface Watch {
  /**
   * The watcher has seen the instance as it was at this revision, and with it these children: a
   * change of theirs is one of the instance.
   */
  saw(rev: number, children: readonly string[]): void;
  close(): void;
}

export interface ChangesOptions {
  feed: ChangeFeed;
  nodeId: string;
  /** How often a node with watchers looks for itself. */
  lookMs: number;
  dice: () => number;
  /** Milliseconds that only go forward. */
  now: () => number;
  onTrouble: (event: string, error: unknown) => void;
}

interface Watcher {
  readonly id: string;
  readonly onChange: () => void;
  rev: number | undefined;
  family: string;
  children: readonly string[];
}

const announceGapMs = 25;
/** Waiting nodes repeat it, so one lost message costs little; an end needs none. */
const repeatWaitingMs = 10_000;
const believeWaitingMs = 30_000;
/** What others wrote before they heard that this node waits. */
const firstLookMs = 250;
const largestLook = 1000;

export function createInstanceChanges(options: ChangesOptions): InstanceChanges {
  const { feed, nodeId, lookMs, dice, now, onTrouble } = options;
  const watchers = new Map<string, Set<Watcher>>();
  let count = 0;
  let closed = false;
  let othersWaitUntil = -Infinity;
  let saidWaitingAt = -Infinity;
  const unsaid = new Set<string>();
  let announcing = false;
  let repeatTimer: NodeJS.Timeout | undefined;
  let lookTimer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;

  const add = (id: string, watcher: Watcher) => {
    const here = watchers.get(id);
    if (here === undefined) watchers.set(id, new Set([watcher]));
    else here.add(watcher);
  };
  const remove = (id: string, watcher: Watcher) => {
    const here = watchers.get(id);
    here?.delete(watcher);
    if (here?.size === 0) watchers.delete(id);
  };
  const wake = (id: string) => {
    for (const watcher of watchers.get(id) ?? []) watcher.onChange();
  };

  const say = async (messages: string[]) => {
    await feed.say(messages).catch((error: unknown) => onTrouble("ChangesNotAnnounced", error));
  };

  const takeUnsaid = () => {
    const ids = closed ? [] : [...unsaid];
    unsaid.clear();
    return ids;
  };

  const announce = async () => {
    announcing = true;
    for (let ids = takeUnsaid(); ids.length > 0; ids = takeUnsaid()) {
      await say(wrote(nodeId, ids));
      await delay(announceGapMs, undefined, { ref: false });
    }
    announcing = false;
  };

  const sayWaiting = () => {
    saidWaitingAt = now();
    void say([waits(nodeId)]);
  };

  const sayWaitingInTime = () => {
    const isDue = now() - saidWaitingAt >= repeatWaitingMs;
    if (isDue) sayWaiting();
    return isDue;
  };

  const scheduleLook = (ms: number) => {
    clearTimeout(lookTimer);
    lookTimer = setTimeout(() => void look(), ms).unref();
  };

  const look = (): Promise<void> =>
    (looking ??= lookOnce()
      .catch((error: unknown) => onTrouble("ChangesNotRead", error))
      .finally(() => {
        looking = undefined;
        // Nodes that started together do not go on looking together.
        if (count > 0 && !closed) scheduleLook(lookMs * (0.8 + 0.4 * dice()));
      }));

  /** One that is under way may have read before what this is about. */
  const lookAgain = () => void (looking === undefined ? look() : looking.then(look));

  const lookOnce = async () => {
    if (count === 0 || closed) return;
    const ids = watchedIds();
    for (let at = 0; at < ids.length; at += largestLook) {
      const part = ids.slice(at, at + largestLook);
      const found = new Map((await feed.standings(part)).map((one) => [one.id, one]));
      for (const id of part) compare(id, found.get(id));
    }
  };

  /** Children are looked at with the one that shows them. */
  const watchedIds = () => [
    ...new Set([...watchers.values()].flatMap((here) => [...here].map(({ id }) => id))),
  ];

  const compare = (id: string, standing: Standing | undefined) => {
    for (const watcher of watchers.get(id) ?? []) {
      if (watcher.id === id && isNews(watcher, standing)) watcher.onChange();
    }
  };

  const begin = () => {
    repeatTimer = setInterval(sayWaitingInTime, repeatWaitingMs).unref();
    scheduleLook(sayWaitingInTime() ? Math.min(firstLookMs, lookMs) : lookMs);
  };

  const end = () => {
    clearInterval(repeatTimer);
    clearTimeout(lookTimer);
  };

  return {
    written({ id, origin }) {
      const isHeardElsewhere = now() < othersWaitUntil;
      if (count === 0 && !isHeardElsewhere) return;
      // A child is shown by its parent, and by all who wait for it.
      const shown = origin === undefined ? [id] : [id, origin.parent.id, ...origin.ancestors];
      for (const each of shown) {
        wake(each);
        if (isHeardElsewhere) unsaid.add(each);
      }
      if (unsaid.size > 0 && !announcing) void announce();
    },

    watch(id, onChange) {
      const watcher: Watcher = { id, onChange, rev: undefined, family: "", children: [] };
      add(id, watcher);
      count += 1;
      if (count === 1) begin();
      return {
        saw(rev, children) {
          watcher.rev = rev;
          for (const child of watcher.children) remove(child, watcher);
          watcher.children = children;
          for (const child of children) add(child, watcher);
        },
        close() {
          for (const each of [id, ...watcher.children]) remove(each, watcher);
          count -= 1;
          if (count === 0) end();
        },
      };
    },

    heard(text) {
      const message = readMessage(text);
      if (message === undefined || message.node === nodeId) return;
      switch (message.kind) {
        case "asks":
          if (count > 0) sayWaiting();
          return;
        case "waits":
          othersWaitUntil = now() + believeWaitingMs;
          return;
        case "wrote":
          if (message.ids.length === 0) lookAgain();
          for (const id of message.ids) wake(id);
      }
    },

    connected() {
      void say([asks(nodeId)]);
      if (count === 0) return;
      sayWaiting();
      lookAgain();
    },

    close() {
      closed = true;
      end();
    },
  };
}

/** Of the children only what has changed since the last look is known, not what the watcher saw. */
function isNews(watcher: Watcher, standing: Standing | undefined): boolean {
  if (standing === undefined) return true;
  const isNew = watcher.rev === undefined || standing.rev > watcher.rev;
  const isOther = standing.family !== watcher.family;
  watcher.family = standing.family;
  return isNew || isOther;
}

/** The store, with every write told to those who wait for the instance. */
export const tellingChanges = (store: InstanceStore, changes: InstanceChanges): InstanceStore => ({
  ...store,
  async start(write) {
    const result = await store.start(write);
    if (result === "started") changes.written(write.instance);
    return result;
  },
  async write(write) {
    const isWritten = await store.write(write);
    if (isWritten) changes.written(write.instance);
    return isWritten;
  },
});
