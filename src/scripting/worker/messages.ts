/** What the host and a script thread say to each other. */
import type { LogLine } from "../log-line.ts";
import type {
  SandboxLimits,
  SandboxScript,
  ScriptFailureKind,
  ScriptPosition,
} from "../sandbox.ts";
import type { MemoryImage } from "./memory-image.ts";
import type { WasmModule } from "./web-assembly.ts";

export interface ThreadData {
  readonly wasm: WasmModule;
  /** Addresses of the library's two modules, for `import()`. */
  readonly glueUrl: string;
  readonly functionsUrl: string;
  readonly prelude: Readonly<Record<string, string>>;
  /** The engine with the prelude loaded, from the thread that was first. */
  readonly base?: LoadedBase | undefined;
  /** One number: the call that shall stop. */
  readonly stop: Int32Array;
}

/** An image and the addresses in it that a call needs. */
export interface LoadedBase {
  readonly image: MemoryImage;
  readonly runtime: number;
  readonly context: number;
  readonly start: number;
  readonly outcome: number;
  readonly describe: number;
  readonly expose: number;
}

export interface LoadedScript {
  readonly image: MemoryImage;
  readonly module: number;
}

export type ToThread =
  | { kind: "compile"; number: number; script: SandboxScript; limits: SandboxLimits }
  | {
      kind: "call";
      number: number;
      /** Of the script. */
      id: string;
      /** For a thread that does not know the script, with whether it shall remember it. */
      learn?: KnownScript & { keep: boolean };
      handler: string;
      args: string;
      limits: SandboxLimits;
    }
  | { kind: "forget"; id: string };

export interface KnownScript {
  readonly script: SandboxScript;
  /** Absent when the top level has to run in each call. */
  readonly loaded: LoadedScript | undefined;
}

export type FromThread =
  | { kind: "ready"; base: LoadedBase }
  | { kind: "compiled"; number: number; loaded: LoadedScript | undefined }
  | { kind: "refused"; number: number; message: string; name: string; position?: ScriptPosition }
  | { kind: "answered"; number: number; value: string; logs: LogLine[]; tookMs: number }
  | { kind: "failed"; number: number; failure: ThreadFailure; logs: LogLine[]; tookMs: number };

export interface ThreadFailure {
  readonly kind: ScriptFailureKind | "aborted";
  readonly message: string;
  readonly scriptName: string;
  readonly errorName?: string | undefined;
  readonly position?: ScriptPosition | undefined;
}
