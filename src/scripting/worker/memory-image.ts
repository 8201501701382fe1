/**
 * A copy of everything an engine is: its memory. A script is evaluated once; each call copies the
 * image of that moment back and goes on from there. So a call cannot leave anything to the next, not
 * even by breaking the engine, and it costs a copy of some hundred kilobytes instead of a new engine.
 *
 * Images are the same for all engines of one WebAssembly module: one worker evaluates, all use it.
 */
import type { Engine } from "./engine.ts";

export interface MemoryImage {
  /** The static data, from address 0. The stack lies between the two parts and is empty at rest. */
  readonly low: Uint8Array;
  readonly heap: Uint8Array;
}

/** How the library is built; `checkLayout` notices when that changes. */
const stackBytes = 5 * 1024 * 1024;
/** What a resting engine may have written of its stack, counted from the heap downwards. */
const usedStackBytes = 3 * 1024 * 1024;
const block = 4096;
const zeros = Buffer.alloc(block);

const stackEnd = (engine: Engine) => engine.heapStart - stackBytes;

/** Only for an engine that was new before what the image shall hold: the rest must still be zeros. */
export function takeImage(engine: Engine): MemoryImage {
  const bytes = engine.bytes();
  return {
    low: shared(bytes.subarray(0, stackEnd(engine))),
    heap: shared(bytes.subarray(engine.heapStart, usedEnd(bytes))),
  };
}

export function restoreImage(engine: Engine, image: MemoryImage): void {
  const bytes = engine.bytes();
  bytes.set(image.low, 0);
  bytes.set(image.heap, engine.heapStart);
}

export const imageBytes = (image: MemoryImage): number =>
  image.low.byteLength + image.heap.byteLength;

/** What an image would not hold must be unused, or calls would see each other. */
export function checkLayout(engine: Engine): void {
  const bytes = engine.bytes();
  const from = stackEnd(engine);
  for (let at = from; at < engine.heapStart - usedStackBytes; at += block) {
    if (!isZero(bytes, at)) {
      throw new Error(
        "The WebAssembly module has another memory layout than this sandbox expects.",
      );
    }
  }
}

/**
 * The allocator keeps a header behind the last block in use, so all that matters lies before the last
 * byte that is not zero.
 */
function usedEnd(bytes: Uint8Array): number {
  let end = bytes.byteLength;
  while (end > 0 && isZero(bytes, end - block)) end -= block;
  return end;
}

const isZero = (bytes: Uint8Array, at: number): boolean =>
  zeros.equals(bytes.subarray(at, at + block));

function shared(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.byteLength));
  copy.set(bytes);
  return copy;
}
