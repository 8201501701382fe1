import { parseJson, type JsonValue } from "../engine/exact-json.ts";

/** As deep as a payload may be by default; what is deeper stays a text. */
const deepestAnswer = 64;

/** The JSON of an answer whatever its content type says, since many say nothing; else its text. */
export function jsonOrText(text: string): JsonValue {
  if (text.trim() === "") return text === "" ? null : text;
  try {
    return parseJson(text, deepestAnswer);
  } catch {
    return text;
  }
}
