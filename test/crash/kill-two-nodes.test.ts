import { describe, test } from "vitest";
import { killAtEach, lanes } from "./kill.ts";

describe("when one of two nodes is killed, the other loses nothing and does nothing twice", () => {
  test.concurrent.for(lanes)(
    "killed $title",
    { timeout: 900_000 },
    async ({ points }, { onTestFinished }) => {
      await killAtEach(points, 2, onTestFinished);
    },
  );
});
