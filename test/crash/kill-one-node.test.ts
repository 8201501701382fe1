import { describe, test } from "vitest";
import { killAtEach, lanes } from "./kill.ts";

describe("a node that is killed and started again loses nothing and does nothing twice", () => {
  test.concurrent.for(lanes)(
    "killed $title",
    { timeout: 900_000 },
    async ({ points }, { onTestFinished }) => {
      await killAtEach(points, 1, onTestFinished);
    },
  );
});
