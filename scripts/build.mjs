/**
 * `npm run build`: the compiler's output in `dist/`, with the files beside the sources that the
 * program reads at run time, and a first look that it runs.
 */
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = (...args) =>
  execFileSync(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });

// What is no longer in src/ must not stay in dist/.
rmSync(join(root, "dist"), { recursive: true, force: true });

const typescript = createRequire(import.meta.url).resolve("typescript/package.json");
const { bin } = JSON.parse(readFileSync(typescript, "utf8"));
try {
  run(join(dirname(typescript), bin.tsc), "-p", "tsconfig.build.json");
} catch (error) {
  process.stdout.write(error.stdout);
  process.exit(1);
}

const migrations = join("storage", "postgres", "migrations");
cpSync(join(root, "src", migrations), join(root, "dist", migrations), { recursive: true });

// What authors of scripts complete against: the package's export "millrace/script".
run("scripts/generate-script-typings.mjs", "dist");

// Both look for package.json, schemas/, examples/ and migrations/ from where they are.
run("dist/cli/main.js", "doctor");
run("--input-type=module", "--eval", smokeTest());
console.log("built dist/");

function smokeTest() {
  return `
    import { startMillrace } from "millrace";
    import { readComponentSchemas } from "./dist/runtime/component-schemas.js";
    import { migrationFiles } from "./dist/storage/postgres/migrate.js";
    import { readdirSync } from "node:fs";
    const found = [typeof startMillrace, Object.keys(readComponentSchemas()).length > 0,
      migrationFiles().length > 0, readdirSync("examples").length > 0];
    if (found.join() !== "function,true,true,true") throw new Error("incomplete: " + found);
  `;
}
