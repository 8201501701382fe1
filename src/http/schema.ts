/**
 * JSON Schemas of routes, written with TypeBox's own names and types, without TypeBox: importing it
 * takes longer than everything else of the start together, and all we need of it at run time are the
 * few lines below.
 */
import type { Type as TypeBox } from "typebox";

type Schema = Record<string | symbol, unknown>;

/** On the schema of a member that may be absent; no serialiser and no validator sees a symbol. */
const optional = Symbol("optional");

const make = {
  String: (options: Schema = {}): Schema => ({ type: "string", ...options }),
  Integer: (options: Schema = {}): Schema => ({ type: "integer", ...options }),
  Number: (options: Schema = {}): Schema => ({ type: "number", ...options }),
  Boolean: (options: Schema = {}): Schema => ({ type: "boolean", ...options }),
  Null: (options: Schema = {}): Schema => ({ type: "null", ...options }),
  Unknown: (options: Schema = {}): Schema => ({ ...options }),
  Enum: (values: readonly unknown[], options: Schema = {}): Schema => ({
    enum: values,
    ...options,
  }),
  Array: (items: Schema, options: Schema = {}): Schema => ({ type: "array", items, ...options }),
  Union: (anyOf: readonly Schema[], options: Schema = {}): Schema => ({ anyOf, ...options }),
  Ref: (name: string): Schema => ({ $ref: `${name}#` }),
  Optional: (schema: Schema): Schema => ({ ...schema, [optional]: true }),
  Object(properties: Record<string, Schema>, options: Schema = {}): Schema {
    const required = Object.keys(properties).filter((name) => properties[name]![optional] !== true);
    return {
      type: "object",
      ...(required.length === 0 ? {} : { required }),
      properties,
      ...options,
    };
  },
};

export const Type = make as unknown as Pick<typeof TypeBox, keyof typeof make>;
