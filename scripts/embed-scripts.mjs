/**
 * Puts the scripts of a component package into its components: every slot with a `location` in the
 * package gets the text of that file, in base64, as its `code`.
 *
 *   node scripts/embed-scripts.mjs examples/loans
 *
 * A slot is written with its `location` before its `code`, which may be empty: { "location":
 * "./src/limit.ts", "encoding": "B64", "code": "" }. Everything else in the file stays as it is.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const slot = /("location"\s*:\s*"(\.\/[^"]+\.(?:ts|js|mjs))"[^{}]*?"code"\s*:\s*)"[^"]*"/g;

/** The text of a component file with the scripts of `folder` in it. */
export function embed(text, folder) {
  return text.replaceAll(slot, (_, before, location) => {
    const code = readFileSync(join(folder, location)).toString("base64");
    return `${before}"${code}"`;
  });
}

export function componentFilesBelow(folder) {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".json") && !/node_modules|config\.json$/.test(path))
    .map((path) => join(folder, path));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [given] = process.argv.slice(2);
  if (given === undefined) {
    console.error("usage: node scripts/embed-scripts.mjs <package folder>");
    process.exit(2);
  }
  const folder = resolve(given);
  for (const file of componentFilesBelow(folder)) {
    const before = readFileSync(file, "utf8");
    const after = embed(before, folder);
    if (after === before) continue;
    writeFileSync(file, after);
    console.log(`embedded: ${file}`);
  }
}
