/** What a schema's author says about a mistake is what callers read, in their language. */
import { expect, test } from "vitest";
import { aFunction, functionTask } from "../support/a-function.ts";
import { aSchema, aWorkflow } from "../support/a-workflow.ts";
import { instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile, type Answer } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();

const missing = (what: string, was: string) => ({
  required: { "en-US": `${what} is missing.`, "de-DE": `${was} fehlt.` },
});
await app.publish(
  functionTask,
  aSchema("person", {
    type: "object",
    required: ["name", "town", "plain"],
    properties: {
      name: {
        type: "string",
        minLength: 3,
        "x-labels": { "de-DE": "Name der Person", "en-US": "Person's name" },
        "x-errorMessages": {
          minLength: { "de-DE": "Der Name ist zu kurz.", "en-US": "The name is too short." },
          ...missing("A name", "Ein Name"),
        },
      },
      town: { type: "string", "x-errorMessages": missing("A town", "Ein Ort") },
      plain: { type: "string", enum: ["a", "b"] },
    },
  }),
  aWorkflow("visit").state("open").transition("note", { schema: "person" }),
  aFunction("greet", "return { Data: 1 };", {
    inputSchema: { key: "person", domain: "core", flow: "sys-schemas", version: "latest" },
  }),
);
const visits = instancesOf(app, "visit");
const id = await visits.begin();

interface Rejection {
  error: {
    validationErrors: { message: string; members: string[] }[];
    data: { validation: { culture: string; errors: Record<string, unknown>[] } };
  };
}
const rejected = (answer: Answer): Rejection["error"] => {
  expect(answer).toMatchObject({ status: 400 });
  return (answer.body as Rejection).error;
};
const note = async (attributes: object, language?: string) =>
  rejected(
    await visits.send(
      id,
      "note",
      { attributes },
      { headers: language === undefined ? {} : { "accept-language": language } },
    ),
  );
const short = { name: "x", town: "y", plain: "a" };

test.each([
  ["de-DE", "Der Name ist zu kurz.", "Name der Person"],
  ["de", "Der Name ist zu kurz.", "Name der Person"],
  ["fr, de;q=0.5", "Der Name ist zu kurz.", "Name der Person"],
  ["fr", "The name is too short.", "Person's name"],
  [undefined, "The name is too short.", "Person's name"],
])("with the language %j a short name is answered with %j", async (language, message, label) => {
  const { validationErrors, data } = await note(short, language);

  expect(validationErrors).toEqual([{ message, members: ["name"] }]);
  expect(data.validation.errors).toEqual([
    {
      path: "name",
      keyword: "minLength",
      code: "schema.minLength",
      message,
      label,
      schemaPath: "#/properties/name/minLength",
      parameters: { minLength: 3 },
    },
  ]);
});

test("the answer names the language that was asked for", async () => {
  const asked = [await note(short, "de-at"), await note(short, "tr"), await note(short)];

  expect(asked.map(({ data }) => data.validation.culture)).toEqual(["de-AT", "tr", "en"]);
});

test("members that are missing are told in the words of each, unless one has none", async () => {
  const worded = await note({ plain: "a" }, "de");
  const mixed = await note({ name: "Ada" }, "de");

  expect(worded.validationErrors).toEqual([
    { message: "Ein Name fehlt. Ein Ort fehlt.", members: ["root"] },
  ]);
  expect(mixed.validationErrors).toEqual([
    { message: 'Required properties ["town","plain"] are not present', members: ["root"] },
  ]);
});

test("without words of the author the mistake is told in English, with what was asked for", async () => {
  const { data } = await note({ ...short, name: "Ada", plain: "c" }, "de");

  expect(data.validation.errors).toEqual([
    expect.objectContaining({
      path: "plain",
      message: 'must be one of "a", "b"',
      parameters: { enum: ["a", "b"] },
    }),
  ]);
  expect(data.validation.errors[0]).not.toHaveProperty("label");
});

test("a function's input is answered the same way", async () => {
  const answer = await app.post("/api/v1/core/functions/greet", short, { "accept-language": "de" });

  expect(rejected(answer).validationErrors[0]?.message).toBe("Der Name ist zu kurz.");
});
