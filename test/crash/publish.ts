import { expect } from "vitest";
import { publishPath } from "../support/start-runtime.ts";

export async function publish(url: string, components: readonly object[]): Promise<void> {
  for (const component of components) {
    const answer = await fetch(url + publishPath, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(component),
    });
    expect(`${answer.status} ${await answer.text()}`).toMatch(/^200 /);
  }
}
