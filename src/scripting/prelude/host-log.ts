/**
 * Where log lines go at once. Nowhere, in plain Node; the sandbox loads a module of its own in place
 * of this one (../prelude-modules.ts).
 */
export const hostLog = undefined as ((level: string, message: string) => void) | undefined;
