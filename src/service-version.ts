import { readFileSync } from "node:fs";

/** The component schema level this service implements: workflow `output`, task type `17`. */
export const componentSchemaVersion = "0.0.49";

/** The version in package.json, which lies one folder above both `src/` and `dist/`. */
export function serviceVersion(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
