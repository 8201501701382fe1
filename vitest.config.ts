import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    pool: "threads",
    maxWorkers: 2,
    globalSetup: ["./test/support/postgres-server.ts"],
    reporters: ["default", "./test/support/plain-reporter.ts"],
    // Nets for what hangs, far beyond what a slow and busy machine needs.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
