/**
 * Makes package-lock.json anew from package.json: `node scripts/lock.mjs`.
 *
 * Some registries do not hold every platform's build of a tool. npm then leaves those packages out
 * of the lock, and `npm ci` refuses a lock that names fewer packages than the manifests do. They are
 * put back here with version and platform, which is all that `npm ci` needs to pass them over on
 * other platforms. Download addresses stay out of the lock: every machine has its own registry.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "millrace-lock-"));
copyFileSync(join(root, "package.json"), join(folder, "package.json"));
execFileSync("npm", ["install", "--package-lock-only", "--ignore-scripts"], {
  cwd: folder,
  stdio: "inherit",
});
const lock = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8"));
rmSync(folder, { recursive: true });

for (const [place, entry] of Object.entries(lock.packages)) {
  delete entry.resolved;
  if (place === "") continue;
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const at = `node_modules/${name}`;
    if (lock.packages[at] === undefined && lock.packages[`${place}/${at}`] === undefined) {
      lock.packages[at] = placeholder(name, version, entry.dev === true);
    }
  }
}
const sorted = Object.entries(lock.packages).toSorted(([a], [b]) => a.localeCompare(b, "en"));
lock.packages = Object.fromEntries(sorted);
writeFileSync(join(root, "package-lock.json"), `${JSON.stringify(lock, undefined, 2)}\n`);

/** The names of such packages say what they are for: `binding-linux-arm64-musl`. */
function placeholder(name, version, dev) {
  const parts = name.split(/[/-]/);
  const os = ["android", "darwin", "freebsd", "linux", "win32", "openharmony"].find((word) =>
    parts.includes(word),
  );
  const cpu = ["arm64", "arm", "x64", "ia32", "ppc64", "riscv64", "s390x", "wasm32"].find((word) =>
    parts.includes(word),
  );
  const musl = parts.some((part) => part.startsWith("musl"));
  const gnu = parts.some((part) => part.startsWith("gnu"));
  return {
    version,
    ...(cpu === undefined ? {} : { cpu: [cpu] }),
    ...(dev ? { dev: true } : {}),
    ...(musl ? { libc: ["musl"] } : gnu ? { libc: ["glibc"] } : {}),
    optional: true,
    ...(os === undefined ? {} : { os: [os] }),
  };
}
