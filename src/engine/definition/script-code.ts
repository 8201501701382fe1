/** A script as definitions carry it, and its text. */
import { ComponentKind } from "../component-kind.ts";
import {
  scriptEncoding,
  type ScriptEncoding,
  scriptType,
  type ScriptType,
} from "./enumerations.ts";
import { asObject, asText } from "./json.ts";
import { readReference, readReferences, type Reference } from "./reference.ts";

export interface ScriptCode {
  readonly type: ScriptType;
  /** The decoded text. Empty for a global script, and for one whose code is `ref`. */
  readonly code: string;
  readonly location: string;
  /** What the author says it is; else the location's ending or the text tells. */
  readonly language?: string | undefined;
  readonly encoding: ScriptEncoding;
  /** The mapping component that holds the code, when the encoding is a reference. */
  readonly ref: Reference | undefined;
  readonly helpers: readonly Reference[];
}

/** A slot whose location is this holds one expression in place of a class. */
export const expressionLocation = "dynamicExpresso";
export const longestExpression = 8000;

const defaultLocation = "inline";

/** Strict: the alphabet, the padding and UTF-8 must be right. `undefined` when they are not. */
export function decodeBase64(code: string): string | undefined {
  const packed = /\s/.test(code) ? code.replaceAll(/\s/g, "") : code;
  if (packed.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(packed)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(packed, "base64"));
  } catch {
    return undefined;
  }
}

export function readScriptCode(
  value: unknown,
  owner: { readonly domain: string },
): ScriptCode | undefined {
  const script = asObject(value);
  if (script === undefined) return undefined;
  const type = scriptType.read(script["type"]) ?? "local";
  const encoding = scriptEncoding.read(script["encoding"]) ?? "base64";
  const code = asText(script["code"]) ?? "";
  return {
    type,
    code: type === "global" || encoding === "reference" ? "" : readText(code, encoding),
    location: locationIn(script["location"]),
    language: asText(script["language"]),
    encoding,
    ref:
      encoding === "reference"
        ? readReference(script["code"], owner, ComponentKind.mapping)
        : undefined,
    helpers: readHelpers(script["scripts"], owner),
  };
}

const locationIn = (value: unknown): string => {
  const location = asText(value) ?? "";
  return location.trim() === "" ? defaultLocation : location;
};

export const readHelpers = (
  scripts: unknown,
  owner: { readonly domain: string },
): readonly Reference[] =>
  readReferences(asObject(scripts)?.["helpers"], owner, ComponentKind.mapping);

const readText = (code: string, encoding: ScriptEncoding): string =>
  encoding === "base64" ? (decodeBase64(code) ?? "") : code;
