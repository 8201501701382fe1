/** Which language a script is written in (scripting.md §14). */
import { expressionLocation } from "../../engine/definition/script-code.ts";

export type ScriptLanguage = "typescript" | "javascript" | "csharp" | "expression";

/** As people say it. */
export const languageNames: Readonly<Record<ScriptLanguage, string>> = {
  typescript: "TypeScript",
  javascript: "JavaScript",
  csharp: "C#",
  expression: "the expression language",
};

/** How an explicit `language` may be spelled, and what file names end with. */
const languageOf: Readonly<Record<string, ScriptLanguage>> = {
  typescript: "typescript",
  ts: "typescript",
  mts: "typescript",
  javascript: "javascript",
  js: "javascript",
  mjs: "javascript",
  csharp: "csharp",
  "c#": "csharp",
  cs: "csharp",
  csx: "csharp",
  dynamicexpresso: "expression",
  expression: "expression",
};

export function detectLanguage(
  source: string,
  location: string,
  language?: string,
): ScriptLanguage {
  if (language !== undefined) {
    const named = languageOf[language.toLowerCase()];
    if (named !== undefined) return named;
  }
  if (location.toLowerCase() === expressionLocation.toLowerCase()) return "expression";
  const ending = /\.(\w+)$/.exec(location)?.[1]?.toLowerCase();
  if (ending !== undefined && fileEndings.has(ending)) {
    return languageOf[ending] ?? "typescript";
  }
  // Without a name to go by, types are allowed: JavaScript is TypeScript without any.
  return looksLikeCSharp(source) ? "csharp" : "typescript";
}

const fileEndings = new Set(["ts", "mts", "js", "mjs", "cs", "csx"]);

/** The heads of C# files: comments aside, a `using`, a `namespace`, or a class of the contract. */
function looksLikeCSharp(source: string): boolean {
  const text = withoutComments(source.replace(/^\ufeff/, ""));
  return (
    /^\s*#(?:load|r)\s/.test(text) ||
    /^[ \t]*(?:global\s+)?using\s+(?:static\s+)?(?:\w+\s*=\s*)?[A-Za-z_][\w.]*\s*;/m.test(text) ||
    /^[ \t]*namespace\s+[\w.]+\s*[;{]/m.test(text) ||
    /\bpublic\s+(?:(?:sealed|partial|static|abstract)\s+)*class\s+\w+/.test(text)
  );
}

/** By hand: an expression would look for the end of each comment that has none, every time anew. */
function withoutComments(source: string): string {
  const begin = /\/[*/]/g;
  let text = "";
  let from = 0;
  for (let found = begin.exec(source); found !== null; found = begin.exec(source)) {
    text += source.slice(from, found.index);
    const [end, length] = found[0] === "/*" ? ["*/", 2] : ["\n", 0];
    const at = source.indexOf(end, begin.lastIndex);
    if (at === -1) return text;
    from = at + length;
    begin.lastIndex = from;
  }
  return text + source.slice(from);
}
