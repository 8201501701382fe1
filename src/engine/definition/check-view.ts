/** The attributes of a view (`sys-views`). */
import { viewType, type ViewType } from "./enumerations.ts";
import { at, type Report } from "./findings.ts";
import { asObject, asText, isPresent, type JsonObject, show } from "./json.ts";

const displays: readonly string[] = [
  "full-page",
  "popup",
  "bottom-sheet",
  "top-sheet",
  "drawer",
  "inline",
];

export function checkView(report: Report, path: string, attributes: JsonObject): void {
  const type = viewType.read(attributes["type"]);
  if (type !== undefined) checkContent(report, at(path, "content"), attributes["content"], type);
  if (isPresent(attributes["renderer"]) && type !== undefined && type !== "json") {
    report.warning(
      at(path, "renderer"),
      `'renderer' is meant for views of type 1 (json); this one is ${type}.`,
    );
  }
  checkDisplay(report, at(path, "display"), attributes["display"]);
  for (const [platform, value] of Object.entries(asObject(attributes["platformOverrides"]) ?? {})) {
    const override = asObject(value);
    const place = at(path, "platformOverrides", platform);
    const own = viewType.read(override?.["type"]) ?? type;
    if (own !== undefined && isPresent(override?.["content"])) {
      checkContent(report, at(place, "content"), override?.["content"], own);
    }
    checkDisplay(report, at(place, "display"), override?.["display"]);
  }
}

function checkContent(report: Report, path: string, content: unknown, type: ViewType): void {
  if (content === undefined || content === null) return;
  const text = asText(content);
  if (text?.trim() === "") {
    report.mistake(path, "The content is empty; a view shows something.");
  } else if (text === undefined && (type === "html" || type === "markdown")) {
    report.mistake(path, `The content of a view of type ${type} is text; got ${show(content)}.`);
  } else if (text !== undefined && type === "json" && !isJson(text)) {
    report.warning(path, "The content of a view of type json is text that is not JSON.");
  }
}

function checkDisplay(report: Report, path: string, display: unknown): void {
  const modes = asObject(display);
  const places: [string, unknown][] =
    modes === undefined
      ? [[path, display]]
      : ["sdi", "mdi"].map((mode) => [at(path, mode), modes[mode]]);
  for (const [place, value] of places) {
    const text = asText(value);
    if (text === undefined) continue;
    if (text.trim() === "")
      report.mistake(place, "'display' is blank; name a display or leave it out.");
    else if (!displays.includes(text)) {
      report.warning(
        place,
        `${show(text)} is none of ${displays.join(", ")}; clients get it as it is.`,
      );
    }
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
