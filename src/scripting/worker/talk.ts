/** Sentences of the engine's C interface that always go together. */
import type { Address, Engine } from "./engine.ts";

/** Something was thrown inside; the value is still there. */
export class Thrown extends Error {
  readonly value: Address;

  constructor(value: Address) {
    super("thrown inside the engine");
    this.value = value;
  }
}

/** Compiling without running is left out: the library answers with a random address. */
export const EvalMode = { program: 0, module: 1 } as const;
export type EvalMode = (typeof EvalMode)[keyof typeof EvalMode];

export function evaluate(
  engine: Engine,
  context: Address,
  source: string,
  file: string,
  mode: EvalMode,
): Address {
  const { address, length } = engine.writeText(source);
  return orThrow(engine, context, engine.js.QTS_Eval(context, address, length, file, 0, mode));
}

export function callFunction(
  engine: Engine,
  context: Address,
  f: Address,
  ...args: Address[]
): Address {
  const argv = engine.allocate(args.length * 4 + 4);
  const view = new DataView(engine.bytes().buffer);
  for (const [index, value] of args.entries()) view.setUint32(argv + index * 4, value, true);
  const self = engine.js.QTS_GetUndefined();
  return orThrow(engine, context, engine.js.QTS_Call(context, f, self, args.length, argv));
}

export function newText(engine: Engine, context: Address, text: string): Address {
  const { address } = engine.writeText(text);
  const value = engine.js.QTS_NewString(context, address);
  // Everything else is left to the end of the call, but a call's arguments may be long.
  engine.free(address);
  return value;
}

/** The value as text; for values that are text already. */
export const textOf = (engine: Engine, context: Address, value: Address): string =>
  engine.readText(engine.js.QTS_GetString(context, value));

export const member = (engine: Engine, context: Address, object: Address, name: string): Address =>
  engine.js.QTS_GetProp(context, object, newText(engine, context, name));

/** Makes the C function that is running throw; answers what it must return to say so. */
export function throwInside(engine: Engine, context: Address, message: string): 0 {
  const error = engine.js.QTS_NewError(context);
  engine.js.QTS_SetProp(
    context,
    error,
    newText(engine, context, "message"),
    newText(engine, context, message),
  );
  engine.js.QTS_Throw(context, error);
  return 0;
}

/** Runs waiting promise jobs; false when there were none. */
export function runJobs(engine: Engine, runtime: Address): boolean {
  if (engine.js.QTS_IsJobPending(runtime) === 0) return false;
  const lastContext = engine.allocate(4);
  engine.js.QTS_ExecutePendingJob(runtime, 100, lastContext);
  return true;
}

export const PromiseState = { none: -1, pending: 0, fulfilled: 1, rejected: 2 } as const;

function orThrow(engine: Engine, context: Address, value: Address): Address {
  const error = engine.js.QTS_ResolveException(context, value);
  if (error !== 0) throw new Thrown(error);
  return value;
}
