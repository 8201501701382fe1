/**
 * The engine reports a full stack to the script as an error the script can catch. To make that limit
 * as final as the others, the stretch of the stack just beyond it is marked before a call and looked
 * at after it: whoever was there went too deep, whatever became of the error.
 */
import type { Engine } from "./engine.ts";

/** How far beyond the limit the engine itself lets a script go. */
export const stackMargin = 64 * 1024;
const mark = 0xa5;
const untouched = Buffer.alloc(stackMargin / 2, mark);

const stretch = (engine: Engine, stackBytes: number): Uint8Array => {
  const end = engine.heapStart - stackBytes;
  return engine.bytes().subarray(end - untouched.byteLength, end);
};

export function markStack(engine: Engine, stackBytes: number): void {
  stretch(engine, stackBytes).fill(mark);
}

export const hasOverflowed = (engine: Engine, stackBytes: number): boolean =>
  !untouched.equals(stretch(engine, stackBytes));
