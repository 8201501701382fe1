import type { Runtime } from "../runtime/runtime.ts";
import type { HealthCheck } from "./health-check.ts";

/** What makes a node alive, and ready: the same on every surface. */
export const nodeChecks = (runtime: () => Runtime): HealthCheck[] => [
  { name: "self", tags: ["live"], run: async () => ({ healthy: true }) },
  {
    name: "database",
    tags: ["ready"],
    run: async () => {
      await runtime().database.query("select 1");
      return { healthy: true };
    },
  },
];
