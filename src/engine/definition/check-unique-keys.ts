/** Keys that name a thing inside one list. */
import { at, type Report } from "./findings.ts";
import { asObject, asText, show } from "./json.ts";

export function checkUniqueKeys(
  report: Report,
  path: string,
  items: readonly unknown[],
  noun: string,
  owner: string,
): void {
  const first = new Map<string, number>();
  for (const [i, item] of items.entries()) {
    const key = asText(asObject(item)?.["key"]);
    if (key === undefined) continue;
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, i);
    else {
      report.mistake(
        at(path, i, "key"),
        `The ${owner} has a ${noun} ${show(key)} already, at [${earlier}]; give each its own key.`,
      );
    }
  }
}
