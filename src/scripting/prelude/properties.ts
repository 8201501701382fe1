/**
 * Reading and writing members by name. A plain object is a map: exact case, own members only. Any
 * other object (a task, the instance, an XML node) has properties, found whatever their case.
 */
import { convertLike, type Widened } from "./convert.ts";
import type { Dynamic } from "./dynamic.ts";
import { ArgumentNullException, isBlank } from "./errors.ts";
import { isHeaderMap } from "./headers.ts";
import { setOwn } from "./json.ts";
import { textFrom } from "./text.ts";

type Members = Record<string, unknown>;

export function hasProperty(obj: unknown, name: string): boolean {
  return find(obj, name) !== undefined;
}

export function getPropertyValue<Value>(
  obj: unknown,
  name: string,
  ...defaults: readonly [] | readonly [Value]
): Widened<Value> | null {
  const fallback = (defaults.length === 0 ? null : defaults[0]) as Widened<Value> | null;
  const place = find(obj, name);
  const value = place === undefined ? undefined : (place.holder as Members)[place.name];
  if (value === null || value === undefined) return fallback;
  const converted = convertLike(value, fallback);
  return converted === undefined ? fallback : (converted as Widened<Value>);
}

export function setProperty(obj: unknown, name: string, value: unknown): void {
  if (obj === null || obj === undefined) throw new ArgumentNullException("obj");
  if (isBlank(name)) return;
  if (isMap(obj)) {
    setOwn(obj, isHeaderMap(obj) ? name.toLowerCase() : name, value);
    return;
  }
  const place = find(obj, name);
  if (place === undefined) return;
  // A property without a setter is left alone, like any other name that fits nothing.
  Reflect.set(place.holder, place.name, value);
}

export function removeProperty(obj: unknown, name: string): boolean {
  const place = isMap(obj) ? find(obj, name) : undefined;
  return place !== undefined && Reflect.deleteProperty(place.holder, place.name);
}

export function toDictionary(obj: unknown): Record<string, Dynamic> {
  return isMap(obj) ? { ...obj } : {};
}

interface Place {
  readonly holder: object;
  readonly name: string;
}

function find(obj: unknown, name: string): Place | undefined {
  if (typeof obj !== "object" || obj === null || isBlank(name)) return undefined;
  if (isHeaderMap(obj)) return ownMember(obj, textFrom(name).toLowerCase());
  if (isMap(obj)) return ownMember(obj, name);
  return propertyIgnoringCase(obj, name);
}

const ownMember = (holder: object, name: string): Place | undefined =>
  Object.hasOwn(holder, name) ? { holder, name } : undefined;

function propertyIgnoringCase(holder: object, name: string): Place | undefined {
  const wanted = textFrom(name).toLowerCase();
  for (
    let level: object | null = holder;
    level !== null && level !== Object.prototype && level !== Array.prototype;
    level = Object.getPrototypeOf(level) as object | null
  ) {
    for (const own of Object.getOwnPropertyNames(level)) {
      if (own.toLowerCase() === wanted && isProperty(level, own)) return { holder, name: own };
    }
  }
  return undefined;
}

/** Methods are not properties; `constructor` is one of them. */
const isProperty = (level: object, name: string): boolean => {
  const described = Object.getOwnPropertyDescriptor(level, name);
  return described?.get !== undefined || typeof described?.value !== "function";
};

function isMap(obj: unknown): obj is Members {
  if (typeof obj !== "object" || obj === null) return false;
  const prototype = Object.getPrototypeOf(obj) as object | null;
  return prototype === null || prototype === Object.prototype || isHeaderMap(obj);
}
