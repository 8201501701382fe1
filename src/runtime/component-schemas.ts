import { readdirSync, readFileSync } from "node:fs";

const folder = new URL("../../schemas/", import.meta.url);

/** The JSON Schemas of the component kinds, by name (`sys-flows`, `common`, …), read once at start. */
export function readComponentSchemas(): Record<string, object> {
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return Object.fromEntries(
    files.map((file) => [
      file.slice(0, -".json".length),
      JSON.parse(readFileSync(new URL(file, folder), "utf8")) as object,
    ]),
  );
}
