/** The label for a reader: exact culture, then the language, then English, then the first. */
import type { Label } from "./definition/model.ts";

export function pickLabel(
  labels: readonly Label[],
  acceptLanguage: string | undefined,
): string | undefined {
  // Most have none, and a header is not read for nothing: a refusal asks once per mistake.
  if (labels.length === 0) return undefined;
  for (const wanted of [...languagesIn(acceptLanguage), "en"]) {
    const found =
      labels.find(({ language }) => fold(language) === wanted) ??
      labels.find(({ language }) => neutral(fold(language)) === neutral(wanted));
    if (found !== undefined) return found.label;
  }
  return labels[0]?.label;
}

/** Nobody reads more; a header of 60 KB could name twenty thousand. */
const mostLanguages = 32;

/** Best first. `*` and what is refused (`q=0`) name nothing. */
export function languagesIn(acceptLanguage = ""): string[] {
  return acceptLanguage
    .split(",", mostLanguages)
    .flatMap((part, position) => {
      const [tag = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
      const quality = parameters.find((text) => text.startsWith("q="))?.slice(2);
      const weight = quality === undefined ? 1 : Number(quality);
      return /^[a-z]{1,8}(-[a-z0-9]{1,8})*$/.test(tag) && weight > 0
        ? [{ tag, weight, position }]
        : [];
    })
    .toSorted((a, b) => b.weight - a.weight || a.position - b.position)
    .map(({ tag }) => tag);
}

const fold = (language: string | undefined) => language?.toLowerCase() ?? "";
const neutral = (tag: string) => tag.split("-")[0];
