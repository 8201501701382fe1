/**
 * A JSON value of which nobody has told the compiler the shape. Authors read `context.Body.amount`
 * without a cast, as their C# colleagues do with `dynamic`; this is the one place that says `any`.
 */
// oxlint-disable-next-line typescript/no-explicit-any
export type Dynamic = any;
