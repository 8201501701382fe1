/** The XML helpers of ScriptBase. */
import { textFrom } from "../text.ts";
import { XmlDocument } from "./document.ts";

/** Null for null, blank or unparsable text; never throws. */
export function parseXml(text: unknown): XmlDocument | null {
  if (typeof text !== "string" || text.trim() === "") return null;
  try {
    const document = new XmlDocument();
    document.LoadXml(text);
    return document;
  } catch {
    return null;
  }
}

export const xmlToString = (document: XmlDocument | null | undefined): string | null =>
  document?.OuterXml ?? null;

const escapes: Readonly<Record<string, string>> = {
  "<": "&lt;",
  ">": "&gt;",
  "&": "&amp;",
  '"': "&quot;",
  "'": "&apos;",
};

export const escapeXml = (text: string | null | undefined): string | null =>
  text === null || text === undefined
    ? null
    : textFrom(text).replaceAll(/[<>&"']/g, (found) => escapes[found] ?? found);
