/** The operators of a filter, in the words of the wire. */
export const operators = [
  "eq",
  "ne",
  "gt",
  "ge",
  "lt",
  "le",
  "between",
  "like",
  "match",
  "startswith",
  "endswith",
  "in",
  "nin",
  "isNull",
  "includes",
] as const;
export type Operator = (typeof operators)[number];

export type Relation = "gt" | "ge" | "lt" | "le";

/** Also accepted, because the client SDK's types list them (wire contract D6). */
const aliases: Readonly<Record<string, Operator>> = { gte: "ge", lte: "le", neq: "ne" };

/** Not accepted, only understood: `contains` could mean `like` or an array's element. */
const hints: Readonly<Record<string, Operator>> = {
  equals: "eq",
  notequals: "ne",
  contains: "like",
  notin: "nin",
  null: "isNull",
};

const byLowerName = new Map<string, Operator>([
  ...operators.map((operator) => [operator.toLowerCase(), operator] as const),
  ...Object.entries(aliases),
]);

export const findOperator = (name: string): Operator | undefined =>
  byLowerName.get(name.toLowerCase());

/** The operator that somebody who wrote `name` most likely meant. */
export function suggestOperator(name: string): Operator | undefined {
  const lower = name.toLowerCase();
  if (Object.hasOwn(hints, lower)) return hints[lower];
  const near = nearest(lower, [...byLowerName.keys()]);
  return near === undefined ? undefined : byLowerName.get(near);
}

/** The candidate that differs from `name` by one letter (two in long names), if there is one. */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  if (name.length < 2 || name.length > 40) return undefined;
  const lower = name.toLowerCase();
  const allowed = name.length > 5 ? 2 : 1;
  let best: string | undefined;
  let bestDistance = allowed + 1;
  for (const candidate of candidates) {
    const distance = editDistance(lower, candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replace = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replace, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
