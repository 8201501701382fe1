/**
 * Query strings. Names match in any letter case (the specification itself spells both `version` and
 * `Version`), so they are folded to lower case here; `validate-request.ts` gives the names of a
 * route's schema back. A name that occurs twice becomes an array. The result has no prototype:
 * `__proto__` is a name like any other.
 */
export type Query = Record<string, string | string[]>;

/** Present when the text could not be decoded: the pair at fault. The router must not throw, the first hook does. */
export const malformedPair = Symbol("malformedPair");
export type ParsedQuery = Query & { [malformedPair]?: string };

export const parseQuery = (text: string): ParsedQuery => parse(text, foldName);

/** The same with names as they were sent, for those who pass a query on. */
export const parseQueryAsSent = (text: string): ParsedQuery => parse(text, (name) => name);

const foldName = (name: string) => name.toLowerCase();

function parse(text: string, nameOf: (name: string) => string): ParsedQuery {
  const query = Object.create(null) as ParsedQuery;
  if (text.length === 0) return query;
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    const value = equals === -1 ? "" : decode(pair.slice(equals + 1));
    if (name === undefined || value === undefined) query[malformedPair] ??= pair.slice(0, 100);
    else add(query, nameOf(name), value);
  }
  return query;
}

function add(query: Query, name: string, value: string): void {
  const before = query[name];
  if (before === undefined) query[name] = value;
  else if (typeof before === "string") query[name] = [before, value];
  else before.push(value);
}

function decode(text: string): string | undefined {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return undefined;
  }
}

/** `+` in a query is a space, and no version has one: `1.0.0-pkg.2.1.0+hr` may be sent as it is. */
export const versionIn = (version: string | undefined): string | undefined =>
  version?.replaceAll(" ", "+");
