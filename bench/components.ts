/** The components that benchmarks publish, as short as they can be said. */
export const domain = "bench";

const labels = [{ label: "bench", language: "en" }];
const envelope = { domain, version: "1.0.0", flowVersion: "1.0.0", tags: ["bench"] };
const versionStrategy = "Minor";

export const component = (flow: string, key: string, attributes: object) => ({
  ...envelope,
  key,
  flow,
  attributes,
});

export const reference = (flow: string, key: string) => ({ key, domain, flow, version: "1.0.0" });

export const taskOf = (key: string, type: string, config: object) =>
  component("sys-tasks", key, { type, config });

export const transition = (key: string, target: string, more = {}) => ({
  key,
  target,
  triggerType: 0,
  versionStrategy,
  labels,
  ...more,
});

export const state = (key: string, stateType: number, transitions: object[] = []) => ({
  key,
  stateType,
  versionStrategy,
  labels,
  transitions,
});

/** It starts in its first state. */
export const workflow = (key: string, states: { key: string }[], start = {}) =>
  component("sys-flows", key, {
    type: "F",
    labels,
    startTransition: transition("start", states[0]!.key, start),
    states,
  });

export const schemaOf = (key: string, schema: object) =>
  component("sys-schemas", key, { type: "workflow", labels, schema });

export async function publish({ url }: { url: string }, given: object): Promise<void> {
  const answer = await fetch(`${url}/api/v1/definitions/publish`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(given),
  });
  if (answer.status !== 200) throw new Error(await answer.text());
}
