/**
 * What the compiler knows of a value before it is there. It decides where C# depends on types:
 * `7 / 2` is 3 for two `int`s, and a C# boolean prints as `True` where a JSON one prints `true`.
 * JSON values are `any`; their numbers compute as `real`.
 */
export type Kind = "int" | "real" | "bool" | "text" | "any";

/** The kind of a sum, a product, or of Math.Max: whole numbers stay whole only among themselves. */
export const commonNumberKind = (kinds: readonly Kind[]): Kind =>
  kinds.every((kind) => kind === "int") ? "int" : "real";

/** The kind of a value that comes from one of several places. */
export const commonKind = (kinds: readonly Kind[]): Kind =>
  kinds.reduce((common, kind) => (common === kind ? common : "any"));
