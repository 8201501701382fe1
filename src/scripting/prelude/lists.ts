/** Lists of dynamic data. What is not a list counts as an empty one. */
import type { Dynamic } from "./dynamic.ts";
import { ArgumentNullException } from "./errors.ts";

export type Predicate = (item: Dynamic) => boolean;

/** The list itself, not a copy. */
export const asList = (value: unknown): Dynamic[] => (Array.isArray(value) ? value : []);

export const listFilter = (list: unknown, predicate: Predicate): Dynamic[] =>
  asList(list).filter(required(predicate, "predicate"));

export const listFirst = (list: unknown, predicate?: Predicate | null): Dynamic =>
  (predicate ? asList(list).find(predicate) : asList(list)[0]) ?? null;

export const listLast = (list: unknown, predicate?: Predicate | null): Dynamic =>
  (predicate ? asList(list).findLast(predicate) : asList(list).at(-1)) ?? null;

export const listAny = (list: unknown, predicate?: Predicate | null): boolean =>
  predicate ? asList(list).some(predicate) : asList(list).length > 0;

export const listCount = (list: unknown, predicate?: Predicate | null): number =>
  predicate ? asList(list).filter(predicate).length : asList(list).length;

export const listSelect = <Result>(list: unknown, selector: (item: Dynamic) => Result): Result[] =>
  asList(list).map((item) => required(selector, "selector")(item));

/** Appends in place; an item added to something else is lost without a word. */
export const listAdd = (list: unknown, item: unknown): void => {
  asList(list).push(item);
};

/** Removes all matches in place; answers how many. */
export function listRemove(list: unknown, predicate: Predicate): number {
  const items = asList(list);
  const kept = items.filter((item) => !required(predicate, "predicate")(item));
  const removed = items.length - kept.length;
  // One by one: `push(...kept)` of a long list overflows the stack.
  for (const [i, item] of kept.entries()) items[i] = item;
  items.length = kept.length;
  return removed;
}

function required<Argument>(argument: Argument, name: string): Argument {
  if (argument === null || argument === undefined) throw new ArgumentNullException(name);
  return argument;
}
