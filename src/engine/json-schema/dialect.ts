/** The drafts of JSON Schema. Public packages use 2020-12 most, then draft-07 and 2019-09. */
export type Dialect = "2020-12" | "2019-09" | "draft-07" | "draft-04";

const spellings: readonly (readonly [RegExp, Dialect])[] = [
  [/\/2020-12\//, "2020-12"],
  [/\/2019-09\//, "2019-09"],
  // What draft-07 added to draft-06 is harmless to a draft-06 schema.
  [/\/draft-0[67]\//, "draft-07"],
  [/\/draft-04\//, "draft-04"],
  // "The latest", as `http://json-schema.org/schema#` says it.
  [/^https?:\/\/json-schema\.org\/schema#?$/, "2020-12"],
];

/** The dialect that `$schema` names; `known` is false when it is another, read as 2020-12. */
export function dialectOf($schema: unknown): { dialect: Dialect; known: boolean } {
  if ($schema === undefined) return { dialect: "2020-12", known: true };
  const name = typeof $schema === "string" ? $schema : "";
  const spelling = spellings.find(([pattern]) => pattern.test(name));
  return spelling === undefined
    ? { dialect: "2020-12", known: false }
    : { dialect: spelling[1], known: true };
}
