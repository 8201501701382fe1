/** Draft-04 for ajv. The package predates ESM: its default export arrives wrapped. */
import type { Ajv, Options } from "ajv";
import * as draft04 from "ajv-draft-04";

const Ajv04 = draft04.default as unknown as new (options: Options) => Ajv;

export const createAjv04 = (options: Options): Ajv => new Ajv04(options);
