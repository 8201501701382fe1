import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readComponentFiles, readPackageConfig } from "../src/deploy/package-folder.ts";
import { publishPath, startRuntime } from "./support/start-runtime.ts";

const folder = new URL("../examples/", import.meta.url);
const packages = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

test.each(packages)("examples/%s is published without a warning", async (name) => {
  const app = await startRuntime();
  const path = fileURLToPath(new URL(`${name}/`, folder));
  const files = await readComponentFiles(path, await readPackageConfig(path));

  expect(files).not.toEqual([]);
  for (const file of files) {
    for (const component of file.components) {
      const { status, body } = await app.post(publishPath, component);
      expect([file.path, status, body]).toMatchObject([file.path, 200, { warnings: [] }]);
    }
  }
});
