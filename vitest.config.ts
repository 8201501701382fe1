import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    pool: "threads",
    maxWorkers: 2,
    globalSetup: ["./test/support/postgres-server.ts"],
    reporters: ["default", "./test/support/plain-reporter.ts"],
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
