/** The formats of the drafts, made once; a format that is not listed is not checked. */
import type { Format } from "ajv";
import * as ajvFormats from "ajv-formats";
import type { FormatName } from "ajv-formats";

// The package predates ESM: its default export arrives wrapped.
const plugin = ajvFormats.default as unknown as { get(name: FormatName): Format };

const names: readonly FormatName[] = [
  "date",
  "time",
  "date-time",
  "duration",
  "uri",
  "uri-reference",
  "uri-template",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "regex",
  "uuid",
  "json-pointer",
  "json-pointer-uri-fragment",
  "relative-json-pointer",
  "byte",
  "int32",
  "int64",
];

export const formats: Record<string, Format> = Object.fromEntries(
  names.map((name) => [name, plugin.get(name)]),
);
