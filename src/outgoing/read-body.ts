/** An answer's body: cut at the limit before and after decompression. */
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, inflateRaw } from "node:zlib";
import { OutgoingFailed } from "./http-client.ts";

/** What is offered in `Accept-Encoding`, and undone. */
export const acceptedEncodings = "gzip, deflate, br";

export interface BodyToRead {
  chunks: AsyncIterable<Uint8Array>;
  /** `content-length`, if it was sent. */
  announced: string | undefined;
  /** `content-encoding`, if it was sent. */
  encoding: string | undefined;
  maxBytes: number;
  /** For messages. */
  from: string;
}

export async function readBody(body: BodyToRead): Promise<Uint8Array> {
  const { chunks, announced, encoding, maxBytes, from } = body;
  // A server that says so beforehand is believed; one that says less is counted all the same.
  if (Number(announced) > maxBytes) throw tooLarge(from, maxBytes);
  const received = await readAll(chunks, () => tooLarge(from, maxBytes), maxBytes);
  return received.length === 0 ? received : decode(received, encoding, maxBytes, from);
}

async function readAll(
  chunks: AsyncIterable<Uint8Array>,
  tooMuch: () => OutgoingFailed,
  maxBytes: number,
): Promise<Uint8Array> {
  const kept: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    // Leaving the loop destroys the stream, and with it the connection.
    if (size > maxBytes) throw tooMuch();
    kept.push(chunk);
  }
  return Buffer.concat(kept, size);
}

type Decoder = (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>;

const decoders: Readonly<Record<string, Decoder>> = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  br: promisify(brotliDecompress),
  // Some servers send what the name says, others the bare stream without its two bytes of header.
  deflate: (bytes, options) =>
    promisify((bytes[0]! & 0x0f) === 8 ? inflate : inflateRaw)(bytes, options),
};

/** One coding only: each further one would multiply what a small answer can cost. */
async function decode(
  bytes: Uint8Array,
  encoding: string | undefined,
  maxOutputLength: number,
  from: string,
): Promise<Uint8Array> {
  const coding = (encoding ?? "").trim().toLowerCase();
  if (coding === "" || coding === "identity") return bytes;
  const decoder = Object.hasOwn(decoders, coding) ? decoders[coding] : undefined;
  if (decoder === undefined) {
    throw new OutgoingFailed(
      "badAnswer",
      `The answer of ${from} has the content encoding '${coding.slice(0, 60)}'; understood is one of ${acceptedEncodings}. Leave the task's Accept-Encoding header out.`,
    );
  }
  try {
    return await decoder(bytes, { maxOutputLength });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      throw tooLarge(from, maxOutputLength);
    }
    throw new OutgoingFailed(
      "badAnswer",
      `The answer of ${from} says it is ${coding}, but cannot be decompressed (${(cause as Error).message}).`,
      { cause },
    );
  }
}

const tooLarge = (from: string, maxBytes: number) =>
  new OutgoingFailed(
    "tooLarge",
    `The answer of ${from} is larger than ${maxBytes} bytes. Ask for less, or raise Egress.AnswerLimitBytes.`,
  );
