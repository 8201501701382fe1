/** Package archives for tests, also such as no packer would make. */
import { gzipSync } from "node:zlib";
import { Header } from "tar";

export interface ArchiveEntry {
  path: string;
  content?: string | Buffer;
  type?: Header["type"];
  linkpath?: string;
  /** Announced in the header, when it is not the content's. */
  size?: number;
}

const blockBytes = 512;

export function anArchive(entries: readonly ArchiveEntry[], { gzip = true } = {}): Buffer {
  const blocks = entries.flatMap((entry) => {
    const content = Buffer.from(entry.content ?? "");
    return [headerOf(entry, content.length), padded(content)];
  });
  const tar = Buffer.concat([...blocks, Buffer.alloc(2 * blockBytes)]);
  return gzip ? gzipSync(tar, { level: 1 }) : tar;
}

/** The files of a package, as npm packs them: everything below `package/`. */
export const aPackageArchive = (files: Record<string, string | object>): Buffer =>
  anArchive(
    Object.entries(files).map(([path, content]) => ({
      path: `package/${path}`,
      content: typeof content === "string" ? content : JSON.stringify(content),
    })),
  );

function headerOf({ path, type = "File", linkpath, size }: ArchiveEntry, length: number): Buffer {
  const block = Buffer.alloc(blockBytes);
  new Header({
    path,
    type,
    mode: 0o644,
    size: size ?? length,
    mtime: new Date(0),
    ...(linkpath === undefined ? {} : { linkpath }),
  }).encode(block, 0);
  return block;
}

const padded = (content: Buffer): Buffer =>
  Buffer.concat([content, Buffer.alloc((blockBytes - (content.length % blockBytes)) % blockBytes)]);
