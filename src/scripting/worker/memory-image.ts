/**
 * A copy of everything an engine is: its memory. A script is evaluated once; each call copies the
 * image of that moment back and goes on from there. So a call cannot leave anything to the next, not
 * even by breaking the engine, and it costs a copy of some hundred kilobytes instead of a new engine.
 *
 * The image of a script holds only what differs from the image it was loaded on, which is the same for
 * all scripts. Images fit all engines of one WebAssembly module: one thread evaluates, all use it.
 */
import type { Address, Engine } from "./engine.ts";

export interface MemoryImage {
  /** Where the part of the memory ends that is in use. */
  readonly end: Address;
  /** Address and length of each piece. */
  readonly pieces: Uint32Array;
  /** The pieces' bytes, one after the other. */
  readonly bytes: Uint8Array;
}

/** How the library is built; `checkLayout` notices when that changes. */
const stackBytes = 5 * 1024 * 1024;
/** What a new engine may have written of its stack, counted from the heap downwards. */
const usedStackBytes = 3 * 1024 * 1024;
const block = 1024;
const zeros = Buffer.alloc(block);

/** The static data lies below the stack, which is empty at rest and in no image. */
const stackEnd = (engine: Engine) => engine.heapStart - stackBytes;

/** Only for an engine that was new before what the image shall hold: the rest must still be zeros. */
export function takeImage(engine: Engine): MemoryImage {
  const end = usedEnd(engine.bytes());
  const pieces = [0, stackEnd(engine), engine.heapStart, end - engine.heapStart];
  return collect(engine, end, pieces);
}

/** What has changed in an engine since `base` was put into it; new before that, as above. */
export function takeDifference(engine: Engine, base: MemoryImage): MemoryImage {
  const bytes = engine.bytes();
  const end = Math.max(usedEnd(bytes), base.end);
  const pieces: number[] = [];
  let from = 0;
  for (const [address, length] of piecesOf(base)) {
    addDifferences(pieces, bytes, address, base.bytes.subarray(from, from + length));
    from += length;
  }
  if (end > base.end) pieces.push(base.end, end - base.end);
  return collect(engine, end, pieces);
}

export function restoreImage(engine: Engine, image: MemoryImage): void {
  const memory = engine.bytes();
  let from = 0;
  for (const [address, length] of piecesOf(image)) {
    memory.set(image.bytes.subarray(from, from + length), address);
    from += length;
  }
}

/** A thread's own copy: copying from memory that is shared takes twice as long. */
export const ownCopy = (image: MemoryImage): MemoryImage => ({
  ...image,
  bytes: new Uint8Array(image.bytes),
});

export const imageBytes = ({ pieces, bytes }: MemoryImage): number =>
  pieces.byteLength + bytes.byteLength;

/** What an image would not hold must be unused, or calls would see each other. */
export function checkLayout(engine: Engine): void {
  const bytes = engine.bytes();
  for (let at = stackEnd(engine); at < engine.heapStart - usedStackBytes; at += block) {
    if (!isZero(bytes, at)) {
      throw new Error(
        "The WebAssembly module has another memory layout than this sandbox expects.",
      );
    }
  }
}

function* piecesOf({ pieces }: MemoryImage): Generator<[Address, number]> {
  for (let i = 0; i < pieces.length; i += 2) yield [pieces[i]!, pieces[i + 1]!];
}

/** Appends the stretches of `bytes` that differ from `before`, which stood at `address`. */
function addDifferences(
  pieces: number[],
  bytes: Uint8Array,
  address: Address,
  before: Uint8Array,
): void {
  for (let at = 0; at < before.byteLength; at += block) {
    const old = before.subarray(at, at + block);
    const start = address + at;
    if (Buffer.compare(old, bytes.subarray(start, start + old.byteLength)) === 0) continue;
    const [lastStart = -1, lastLength = 0] = pieces.slice(-2);
    const isNext = lastStart + lastLength === start;
    if (isNext) pieces.splice(-1, 1, lastLength + old.byteLength);
    else pieces.push(start, old.byteLength);
  }
}

function collect(engine: Engine, end: Address, pieces: readonly number[]): MemoryImage {
  const memory = engine.bytes();
  const total = pieces.reduce((sum, value, index) => (index % 2 === 1 ? sum + value : sum), 0);
  const image = {
    end,
    pieces: Uint32Array.from(pieces),
    bytes: new Uint8Array(new SharedArrayBuffer(total)),
  };
  let at = 0;
  for (const [address, length] of piecesOf(image)) {
    image.bytes.set(memory.subarray(address, address + length), at);
    at += length;
  }
  return image;
}

/**
 * The allocator keeps a header behind the last block in use, so all that matters lies before the last
 * byte that is not zero.
 */
function usedEnd(bytes: Uint8Array): Address {
  let end = bytes.byteLength;
  while (end > 0 && isZero(bytes, end - block)) end -= block;
  return end;
}

const isZero = (bytes: Uint8Array, at: number): boolean =>
  zeros.equals(bytes.subarray(at, at + block));
