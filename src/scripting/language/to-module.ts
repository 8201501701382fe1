/** From the text of a script slot to what the sandbox runs. The seam for further languages. */
import { detectLanguage, type ScriptLanguage } from "./detect-language.ts";
import { stripTypes } from "./strip-types.ts";

export interface ScriptModule {
  readonly language: ScriptLanguage;
  /** JavaScript module text; absent for languages that do not become one here. */
  readonly source?: string;
  readonly warnings: readonly string[];
}

/** Throws `ScriptSyntaxError` for what does not parse. */
export function toModule(
  source: string,
  { location, language }: { location: string; language?: string | undefined },
): ScriptModule {
  const detected = detectLanguage(source, location, language);
  switch (detected) {
    case "typescript":
    case "javascript":
      return { language: detected, source: stripTypes(source, location), warnings: [] };
    case "csharp":
      return {
        language: detected,
        warnings: [`The C# script '${location}' is kept but cannot be run yet.`],
      };
    case "expression":
      return { language: detected, warnings: [] };
  }
}
