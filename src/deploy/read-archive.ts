/**
 * Reads a package's archive as data: nothing is written anywhere. Of JSON files the text is kept, of
 * everything else that it is there.
 *
 * What no package needs refuses the whole archive: links, devices, paths that lead outside, more or
 * larger files than allowed. The limits hold while unpacking, so a bomb costs no more than they allow.
 */
import { once } from "node:events";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { Parser, type ReadEntry } from "tar";
import { DeployFailed } from "./deploy-failure.ts";
import type { PackageFiles } from "./package-contents.ts";

export interface ArchiveLimits {
  /** Files and folders. */
  entries: number;
  /** Of everything in it, unpacked. */
  unpackedBytes: number;
}

const fileTypes = new Set(["File", "OldFile", "ContiguousFile"]);
const folderTypes = new Set(["Directory", "GNUDumpDir"]);

export async function readArchive(
  archive: Uint8Array,
  limits: ArchiveLimits,
  signal?: AbortSignal,
): Promise<PackageFiles> {
  const files = new Map<string, string>();
  const reading: Promise<void>[] = [];
  let entries = 0;
  const parser = new Parser({ strict: true });
  let refusal: Error | undefined;
  const refuse = (error: Error) => {
    refusal ??= error;
    parser.abort(error);
  };
  const take = (entry: ReadEntry) => {
    entries += 1;
    if (entries > limits.entries) {
      refuse(invalid(`it holds more than ${limits.entries} files and folders`, "Deploy.MaxFiles"));
    }
    const path = safePath(entry.path);
    if (path === undefined) {
      refuse(invalid(`'${shown(entry.path)}' leads outside the package`));
    } else if (!fileTypes.has(entry.type) && !folderTypes.has(entry.type)) {
      refuse(invalid(`'${shown(entry.path)}' is no regular file but a ${entry.type}`));
    } else if (path.endsWith(".json")) {
      reading.push(entry.concat().then((content) => void files.set(path, content.toString())));
      return;
    } else {
      // That it is there says which folders there are.
      files.set(path, "");
    }
    entry.resume();
  };
  parser.on("entry", take);
  parser.on("ignoredEntry", (entry: ReadEntry) =>
    refuse(invalid(`'${shown(entry.path)}' is no regular file but a ${entry.type}`)),
  );

  try {
    await pipeline(
      Readable.from([archive]),
      createGunzip(),
      atMost(limits.unpackedBytes),
      intoParser(parser),
      { signal },
    );
    await Promise.all(reading);
  } catch (error) {
    // The pipeline may tell of its own end first.
    if (refusal !== undefined) throw refusal;
    if (signal?.aborted === true || error instanceof DeployFailed) throw error;
    throw invalid(`it cannot be unpacked (${(error as Error).message})`, undefined, error);
  }
  if (refusal !== undefined) throw refusal;
  return files;
}

function atMost(limit: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes <= limit) done(null, chunk);
      else done(invalid(`unpacked it is larger than ${limit} bytes`, "Deploy.UnpackedLimitBytes"));
    },
  });
}

/** The parser reports errors as events only; thrown, they end the whole pipeline. */
function intoParser(parser: Parser) {
  return async (source: AsyncIterable<Buffer>) => {
    const failed = new Promise<never>((_resolve, reject) => parser.on("error", reject));
    failed.catch(() => undefined); // looked at below
    const ended = new Promise<void>((resolve) => parser.on("end", () => resolve()));
    for await (const chunk of source) {
      const goOn = parser.write(chunk) ? Promise.resolve() : once(parser, "drain");
      await Promise.race([failed, goOn]);
    }
    parser.end();
    await Promise.race([failed, ended]);
  };
}

/** Without its first folder, which every packer names as it likes. Undefined: it leads outside. */
function safePath(path: string): string | undefined {
  if (/^[/\\]|^[a-zA-Z]:|\0|\\/.test(path)) return undefined;
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  return parts.includes("..") ? undefined : parts.slice(1).join("/");
}

const shown = (path: string) => path.slice(0, 200).replaceAll(/\p{Cc}/gu, "?");

const invalid = (why: string, setting?: string, cause?: unknown) =>
  new DeployFailed(
    "ArchiveInvalid",
    `The archive of the package is refused: ${why}. ${setting === undefined ? "Pack it with npm pack and publish it again." : `Make the package smaller, or raise ${setting}.`}`,
    { cause },
  );
