/** From a published view to what clients are shown. */
import type { Component } from "../component.ts";
import { isJsonObject, parseJson, type JsonObject, type JsonValue } from "../exact-json.ts";
import { viewType, type ViewType } from "./enumerations.ts";
import { asObject, asText } from "./json.ts";
import type { Label } from "./model.ts";
import { normaliseLabels } from "./normalise-parts.ts";

export interface View {
  readonly key: string;
  readonly labels: readonly Label[];
  readonly renderer: string | undefined;
  /** Without a platform. */
  readonly face: ViewFace;
  /** By platform, in lower case. */
  readonly platforms: ReadonlyMap<string, ViewFace>;
}

export interface ViewFace {
  readonly type: ViewType;
  /** As authored, number for number; JSON that was written as text is read. */
  readonly content: JsonValue;
  readonly display: string | undefined;
  /** For one document at a time, and for several. */
  readonly modes: JsonObject | undefined;
}

export function normaliseView({
  key,
  attributesText,
}: Pick<Component, "key" | "attributesText">): View {
  // Read anew: numbers of the content come back as they were sent.
  const attributes = parseJson(attributesText) as JsonObject;
  const own = faceOf(attributes, undefined);
  const overrides = Object.entries(asObject(attributes["platformOverrides"]) ?? {});
  return {
    key,
    labels: normaliseLabels(attributes["labels"], key),
    renderer: asText(attributes["renderer"]),
    face: own,
    platforms: new Map(
      overrides.flatMap(([platform, given]) => {
        const override = given as JsonValue;
        if (!isJsonObject(override)) return [];
        return [[platform.toLowerCase(), faceOf(override, own)] as const];
      }),
    ),
  };
}

/** What an override leaves out is as without it. */
function faceOf(given: JsonObject, own: ViewFace | undefined): ViewFace {
  const type = viewType.read(given["type"]) ?? own?.type ?? "json";
  const { content, display } = given;
  const shown = displayOf(display);
  return {
    type,
    content:
      content === undefined || content === null ? (own?.content ?? null) : read(content, type),
    display: shown.display ?? own?.display,
    modes: shown.display === undefined ? own?.modes : shown.modes,
  };
}

function displayOf(display: JsonValue | undefined): Pick<ViewFace, "display" | "modes"> {
  if (!isJsonObject(display)) return { display: asText(display), modes: undefined };
  return { display: asText(display["sdi"]) ?? asText(display["mdi"]), modes: display };
}

/** What is deeper stays the text that it is. */
const deepestContent = 512;

function read(content: JsonValue, type: ViewType): JsonValue {
  if (typeof content !== "string" || type === "html" || type === "markdown") return content;
  try {
    return parseJson(content, deepestContent);
  } catch {
    return content;
  }
}
