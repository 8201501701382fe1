/** Everything a file's tests have left in its database keeps what the service promises. */
import { afterAll, expect } from "vitest";
import { auditOf } from "../crash/promises.ts";
import { eventually } from "./eventually.ts";
import type { TestRuntime } from "./start-runtime.ts";

/** Called after the runtime was started: what is registered last runs first, while it still runs. */
export function auditAtEnd(app: TestRuntime): void {
  // Of a run that ends this moment two pages may show two sides.
  afterAll(
    () => eventually(async () => expect(await auditOf(app.databaseUrl)).toEqual([])),
    120_000,
  );
}
