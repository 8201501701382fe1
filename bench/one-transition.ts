/** A workflow of one state, whose transition `go` runs the tasks that a benchmark asks for. */
import { domain, state, transition, workflow } from "./components.ts";
import { payload, type Subject } from "./subject.ts";

export const workflowWith = (key: string, onExecutionTasks: object[]) =>
  workflow(key, [state("s0", 1, [transition("go", "s0", { onExecutionTasks })])]);

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
