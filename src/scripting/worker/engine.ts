/**
 * One QuickJS in one WebAssembly memory, spoken to by numbers: addresses inside that memory. No value
 * of the host ever gets in but text, and nothing but text comes out.
 *
 * A limit is enforced by throwing out of WebAssembly from the functions it calls on the host (the
 * interrupt poll, the request for more memory). The script's frames are gone with it, so no `catch`
 * of theirs sees anything; what the engine left half done is never looked at again, because every
 * call starts by copying a whole memory back (`memory-image.ts`).
 */
import { LimitHit } from "./limit-hit.ts";
import {
  Instance,
  Memory,
  pageBytes,
  type WasmImports,
  type WasmInstance,
  type WasmMemory,
  type WasmModule,
} from "./web-assembly.ts";

/** An address of the engine's memory. */
export type Address = number;

/** The exported C functions in use, of `@jitl/quickjs-wasmfile-release-sync`. */
export interface QuickJsFunctions {
  QTS_NewRuntime(): Address;
  QTS_NewContext(runtime: Address, intrinsics: number): Address;
  QTS_RuntimeSetMaxStackSize(runtime: Address, bytes: number): void;
  QTS_RuntimeEnableInterruptHandler(runtime: Address): void;
  QTS_RuntimeEnableModuleLoader(runtime: Address, customNames: number): void;
  QTS_NewFunction(
    context: Address,
    name: string,
    length: number,
    isConstructor: boolean,
    hostRef: number,
  ): Address;
  QTS_NewString(context: Address, text: Address): Address;
  QTS_GetString(context: Address, value: Address): Address;
  QTS_NewError(context: Address): Address;
  QTS_Throw(context: Address, error: Address): Address;
  QTS_GetProp(context: Address, object: Address, name: Address): Address;
  QTS_SetProp(context: Address, object: Address, name: Address, value: Address): void;
  QTS_GetUndefined(): Address;
  QTS_Call(context: Address, f: Address, self: Address, argc: number, argv: Address): Address;
  QTS_ArgvGetJSValueConstPointer(argv: Address, index: number): Address;
  QTS_Eval(
    context: Address,
    code: Address,
    length: number,
    file: string,
    detectModule: number,
    flags: number,
  ): Address;
  QTS_ResolveException(context: Address, value: Address): Address;
  QTS_PromiseState(context: Address, promise: Address): number;
  QTS_PromiseResult(context: Address, promise: Address): Address;
  QTS_IsJobPending(runtime: Address): number;
  QTS_ExecutePendingJob(runtime: Address, most: number, lastContext: Address): Address;
}

/** What the engine asks of the host while it runs. Each may throw `LimitHit`. */
export interface EngineCallbacks {
  shouldInterrupt(): void;
  called(context: Address, argv: Address): void;
  normalizeModule(context: Address, from: string, wanted: string): Address;
  loadModule(context: Address, module: string): Address;
}

interface Glue {
  _malloc(bytes: number): Address;
  _free(address: Address): void;
  HEAPU8: Uint8Array;
  callbacks: unknown;
}

export interface EngineParts {
  readonly wasm: WasmModule;
  readonly load: (options: object) => Promise<Glue>;
  readonly functions: new (glue: Glue) => QuickJsFunctions;
}

export interface Engine {
  readonly js: QuickJsFunctions;
  /** Where the heap begins; the stack ends here and grows downwards. */
  readonly heapStart: Address;
  callbacks: EngineCallbacks;
  /** The most bytes the memory may have, with all that is in it. */
  memoryCeiling: number;
  bytes(): Uint8Array;
  hasGrown(): boolean;
  allocate(bytes: number): Address;
  free(address: Address): void;
  /** Writes text with a closing zero; answers where, and how many bytes it has without the zero. */
  writeText(text: string): { address: Address; length: number };
  readText(address: Address): string;
}

const initialBytes = 16 * 1024 * 1024;
/** A wall behind the ceilings of calls. */
const mostBytes = 512 * 1024 * 1024;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export async function openEngine(parts: EngineParts): Promise<Engine> {
  const memory = new Memory({
    initial: initialBytes / pageBytes,
    maximum: mostBytes / pageBytes,
  });
  const growth = { ceiling: mostBytes, refused: false };
  boundGrowth(memory, growth);
  const glue = await parts.load({
    wasmMemory: memory,
    print: () => {},
    printErr: () => {},
    instantiateWasm: (imports: WasmImports, done: (instance: WasmInstance) => void) => {
      const instance = new Instance(parts.wasm, throwingWhenRefused(imports, growth));
      done(instance);
      return instance.exports;
    },
  });
  const { _malloc: allocate, _free: free } = glue;
  const heapStart = allocate(1) & ~15;

  const engine: Engine = {
    js: new parts.functions(glue),
    heapStart,
    callbacks: noCallbacks,
    get memoryCeiling() {
      return growth.ceiling;
    },
    set memoryCeiling(bytes) {
      growth.ceiling = bytes;
    },
    bytes: () => glue.HEAPU8,
    hasGrown: () => memory.buffer.byteLength > initialBytes,
    free,
    allocate(bytes) {
      const address = allocate(bytes);
      if (address === 0) throw new LimitHit("memory");
      return address;
    },
    writeText(text) {
      const length = Buffer.byteLength(text);
      const address = engine.allocate(length + 1);
      encoder.encodeInto(text, glue.HEAPU8.subarray(address, address + length));
      glue.HEAPU8[address + length] = 0;
      return { address, length };
    },
    readText(address) {
      const bytes = glue.HEAPU8;
      return decoder.decode(bytes.subarray(address, bytes.indexOf(0, address)));
    },
  };
  glue.callbacks = callbacksOf(engine);
  return engine;
}

const noCallbacks: EngineCallbacks = {
  shouldInterrupt: () => {},
  called: () => {},
  normalizeModule: () => 0,
  loadModule: () => 0,
};

/** The glue passes an `asyncify` first, which this build does not have. */
const callbacksOf = (engine: Engine) => ({
  shouldInterrupt: () => {
    engine.callbacks.shouldInterrupt();
    return 0;
  },
  callFunction: (_: undefined, context: Address, _self: Address, _argc: number, argv: Address) => {
    engine.callbacks.called(context, argv);
    return 0;
  },
  normalizeModule: (
    _: undefined,
    _runtime: Address,
    context: Address,
    from: string,
    wanted: string,
  ) => engine.callbacks.normalizeModule(context, from, wanted),
  loadModuleSource: (_: undefined, _runtime: Address, context: Address, module: string) =>
    engine.callbacks.loadModule(context, module),
  freeHostRef: () => {},
});

interface Growth {
  ceiling: number;
  refused: boolean;
}

function boundGrowth(memory: WasmMemory, growth: Growth): void {
  const grow = memory.grow.bind(memory);
  memory.grow = (pages) => {
    if (memory.buffer.byteLength + pages * pageBytes > growth.ceiling) {
      growth.refused = true;
      throw new LimitHit("memory");
    }
    growth.refused = false;
    return grow(pages);
  };
}

/**
 * The glue asks for generous growth first and for less after a refusal, and swallows the error of the
 * last one. Its answer is then "no", and this is the place to leave for good: an "out of memory" that
 * went back into the engine would be an exception the script can catch.
 */
function throwingWhenRefused(imports: WasmImports, growth: Growth): WasmImports {
  const guard =
    (f: (...args: unknown[]) => unknown) =>
    (...args: unknown[]) => {
      const answer = f(...args);
      if (!growth.refused) return answer;
      growth.refused = false;
      if (answer === true) return answer;
      throw new LimitHit("memory");
    };
  return Object.fromEntries(
    Object.entries(imports).map(([module, members]) => [
      module,
      Object.fromEntries(
        Object.entries(members).map(([name, member]) => [
          name,
          typeof member === "function" ? guard(member as (...args: unknown[]) => unknown) : member,
        ]),
      ),
    ]),
  );
}
