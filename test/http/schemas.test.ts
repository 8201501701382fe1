import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv2020, type AnySchemaObject } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { readComponentFiles, readPackageConfig } from "../../src/deploy/package-folder.ts";
import { componentKinds } from "../../src/engine/component-kind.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();

const loans = fileURLToPath(new URL("../../examples/loans/", import.meta.url));
const files = await readComponentFiles(loans, await readPackageConfig(loans));
const components = files.flatMap((file) => file.components) as { flow: string; key: string }[];

/** As an editor does it: fetches the schema, and whatever it refers to, from the service. */
const ajv = new Ajv2020({
  allErrors: true,
  strict: true,
  strictTypes: false,
  loadSchema: async (uri) => (await app.get(uri)).body as AnySchemaObject,
});
ajv.addVocabulary(["x-must"]);

test.each(componentKinds)("/schemas/%s.json is served", async (kind) => {
  const answer = await app.get(`/schemas/${kind}.json`);

  expect(answer.status).toBe(200);
  expect(answer.headers["content-type"]).toBe("application/schema+json; charset=utf-8");
  expect(answer.body).toMatchObject({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: `/schemas/${kind}.json`,
  });
});

test("every file of schemas/ is served as it is", async () => {
  const folder = new URL("../../schemas/", import.meta.url);
  for (const file of readdirSync(folder)) {
    const { body } = await app.get(`/schemas/${file}`);
    expect(body).toEqual(JSON.parse(readFileSync(new URL(file, folder), "utf8")));
  }
});

describe("the schemas", () => {
  test.each(components)("accept $flow $key of the sample domain", async (component) => {
    const validate = await ajv.compileAsync({ $ref: `/schemas/${component.flow}.json` });

    expect(validate(component) ? [] : validate.errors).toEqual([]);
  });

  test("refuse what publish refuses", async () => {
    const validate = await ajv.compileAsync({ $ref: "/schemas/sys-flows.json" });

    expect(validate({ key: "a b", flow: "sys-flows", attributes: { type: "F" } })).toBe(false);
  });
});

test.each(["nothing.json", "__proto__", "..%2fpackage.json"])(
  "/schemas/%s is not found",
  async (name) => {
    expect(await app.get(`/schemas/${name}`)).toMatchObject({
      status: 404,
      body: { code: "Http:404001" },
    });
  },
);
