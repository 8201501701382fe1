/** The part of WebAssembly in use here: the compiler has typings of it for browsers only. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

export type WasmModule = object;
export type WasmImports = Record<string, Record<string, unknown>>;
export interface WasmInstance {
  readonly exports: object;
}

interface Wasm {
  Memory: new (size: { initial: number; maximum: number }) => WasmMemory;
  Instance: new (module: WasmModule, imports: WasmImports) => WasmInstance;
  compile(bytes: Uint8Array): Promise<WasmModule>;
}

export const { Memory, Instance, compile } = (globalThis as unknown as { WebAssembly: Wasm })
  .WebAssembly;

export const pageBytes = 64 * 1024;
