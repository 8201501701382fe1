/** A workflow of one state, whose transition `go` runs the tasks that a benchmark asks for. */
import { domain, payload, type Subject } from "./subject.ts";

const labels = [{ label: "bench", language: "en" }];
const envelope = { domain, version: "1.0.0", flowVersion: "1.0.0", tags: ["bench"] };

export const taskOf = (key: string, type: string, config: object) => ({
  ...envelope,
  key,
  flow: "sys-tasks",
  attributes: { type, config },
});

export const workflowWith = (key: string, onExecutionTasks: object[]) => ({
  ...envelope,
  key,
  flow: "sys-flows",
  attributes: {
    type: "F",
    labels,
    startTransition: {
      key: "start",
      target: "s0",
      triggerType: 0,
      versionStrategy: "Minor",
      labels,
    },
    states: [
      {
        key: "s0",
        stateType: 1,
        versionStrategy: "Minor",
        labels,
        transitions: [
          {
            key: "go",
            target: "s0",
            triggerType: 0,
            versionStrategy: "Minor",
            labels,
            onExecutionTasks,
          },
        ],
      },
    ],
  },
});

export async function publish({ url }: Subject, component: object): Promise<void> {
  const answer = await fetch(`${url}/api/v1/definitions/publish`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(component),
  });
  if (answer.status !== 200) throw new Error(await answer.text());
}

export async function start({ url }: Subject, flow: string, count = 200): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const answer = await fetch(
      `${url}/api/v1/${domain}/workflows/${flow}/instances/start?sync=true`,
      {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: payload(),
      },
    );
    ids.push(((await answer.json()) as { id: string }).id);
  }
  return ids;
}
