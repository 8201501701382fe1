/** Script slots for workflows of tests, and the tasks whose mapping they are. */
import { aComponent, defaultDomain } from "./a-workflow.ts";

export const base64 = (text: string): string => Buffer.from(text, "utf8").toString("base64");

/** A slot that holds this TypeScript. */
export const slot = (code: string, more: object = {}) => ({
  type: "L",
  encoding: "B64",
  location: "./src/script.ts",
  code: base64(code),
  ...more,
});

/** A slot whose script has one handler, written as its body: `return { Data: context.Body };`. */
export const handler = (body: string, more: object = {}) =>
  slot(`export function Handler(context) { ${body} }`, more);

export const mappingRef = (key: string, version = "1.0.0") => ({
  key,
  domain: defaultDomain,
  flow: "sys-mappings",
  version,
});

/** A slot that takes the whole mapping from a component. */
export const refSlot = (key: string) => ({ type: "L", encoding: "REF", code: mappingRef(key) });

/** A `sys-mappings` component: a helper, or a whole mapping. */
export const aMapping = (key: string, code: string, attributes: object = {}) =>
  aComponent("sys-mappings", key, {
    name: key,
    encoding: "B64",
    code: base64(code),
    ...attributes,
  });

export const aScriptTask = (key: string, config: object = {}) =>
  aComponent("sys-tasks", key, { type: "7", config });

/** One task of a hook, with its mapping. */
export const taskWith = (key: string, mapping: object, order = 1) => ({
  order,
  task: { key, domain: defaultDomain, flow: "sys-tasks", version: "latest" },
  mapping,
});

/** A mapping with only an output handler, written as its body. */
export const output = (body: string, more: object = {}) =>
  slot(`export function OutputHandler(context) { ${body} }`, more);
