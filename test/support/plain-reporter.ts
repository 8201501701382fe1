import type { Reporter, TestModule } from "vitest/node";

/** Ends a run with one plain line for machines: `tests: 12 passed, 0 failed`. */
export default class PlainReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    let passed = 0;
    // A file that could not be loaded, and an error nobody caught, each count as a failure.
    let failed = unhandledErrors.length + modules.filter((m) => m.errors().length > 0).length;
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const state = test.result().state;
        if (state === "passed") passed += 1;
        else if (state === "failed") failed += 1;
      }
    }
    process.stdout.write(`tests: ${passed} passed, ${failed} failed\n`);
  }
}
