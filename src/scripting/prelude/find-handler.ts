/**
 * Where a script keeps its handlers. In this order: a class (the default export first, then the
 * others), an exported function of the handler's name, an object exported as default.
 */
import { handlerNames } from "../contract.ts";
import { ScriptBase } from "./script-base.ts";

export type ModuleExports = Readonly<Record<string, unknown>>;
export type Handler = (...args: unknown[]) => unknown;
type ScriptClass = new () => object;

export interface FoundHandler {
  /** What `this` is in the handler. A new one for each call. */
  readonly script: object;
  readonly handler: Handler;
}

export function findHandler(exports: ModuleExports, name: string): FoundHandler | undefined {
  for (const candidate of candidates(exports)) {
    const found =
      inClass(candidate, name) ?? inFunction(candidate, name) ?? inObject(candidate, name);
    if (found !== undefined) return found;
  }
  const exported = exports[name];
  return typeof exported === "function"
    ? { script: new ScriptBase(), handler: exported as Handler }
    : undefined;
}

/** The handlers a script has, for the error and for the check at publish: `Name` or `Class.Name`. */
export function availableHandlers(exports: ModuleExports): string[] {
  const found = candidates(exports).flatMap((candidate) => {
    const holder = isClass(candidate) ? new candidate() : candidate;
    return handlerNames
      .filter((name) => inObject(holder, name) !== undefined)
      .map((name) => (isClass(candidate) ? `${candidate.name}.${name}` : name));
  });
  const functions = handlerNames.filter((name) => typeof exports[name] === "function");
  return [...new Set([...found, ...functions])];
}

function candidates(exports: ModuleExports): unknown[] {
  const names = Object.keys(exports).filter((name) => name !== "default");
  return [
    ...(exports["default"] === undefined ? [] : [exports["default"]]),
    ...names.map((name) => exports[name]).filter(isClass),
  ];
}

function inClass(candidate: unknown, name: string): FoundHandler | undefined {
  if (!isClass(candidate)) return undefined;
  const onPrototype = memberOf(candidate.prototype as object, name);
  // A handler may also be a field (`Handler = (context) => …`), which only an object shows.
  const script = new candidate();
  const handler = onPrototype ?? memberOf(script, name);
  return handler === undefined ? undefined : { script, handler };
}

const inFunction = (candidate: unknown, name: string): FoundHandler | undefined =>
  typeof candidate === "function" && !isClass(candidate) && candidate.name === name
    ? { script: new ScriptBase(), handler: candidate as Handler }
    : undefined;

function inObject(candidate: unknown, name: string): FoundHandler | undefined {
  if (typeof candidate !== "object" || candidate === null) return undefined;
  const handler = memberOf(candidate, name);
  return handler === undefined
    ? undefined
    : { script: Object.create(candidate) as object, handler };
}

function memberOf(holder: object, name: string): Handler | undefined {
  const member = (holder as Record<string, unknown>)[name];
  return typeof member === "function" ? (member as Handler) : undefined;
}

/** A function's `prototype` can be assigned, a class's cannot. */
const isClass = (value: unknown): value is ScriptClass =>
  typeof value === "function" &&
  Object.getOwnPropertyDescriptor(value, "prototype")?.writable === false;
