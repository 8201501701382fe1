/** What waits for a person in a domain, as far as this caller may do something about it. */
import { isJsonObject, type JsonValue } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import { pickLabel } from "../engine/pick-label.ts";
import { Problem } from "../engine/problem.ts";
import type { Asker } from "../runtime/asker.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { answerJson, type FunctionAnswer } from "./function-answer.ts";
import { deepest, loadLevels, refuseQuery, type Level } from "./levels.ts";
import { allowedOffers, askedOnce } from "./transition-gates.ts";

/** Looked at, and answered at most. */
const mostCandidates = 1000;
const mostTasks = 200;

export async function callHumanTask(
  ports: FunctionPorts,
  domain: string,
  asker: Asker,
): Promise<FunctionAnswer> {
  const candidates = await ports.store.humanTasks(domain, mostCandidates + 1);
  const tasks: object[] = [];
  let isCut = candidates.length > mostCandidates;
  for (const instance of candidates.slice(0, mostCandidates)) {
    const task = await taskFor(ports, instance, asker);
    if (task === undefined) continue;
    if (tasks.length === mostTasks) {
      isCut = true;
      break;
    }
    tasks.push(task);
  }
  const headers: Record<string, string> = isCut ? { "x-vnext-humantask-truncated": "true" } : {};
  return answerJson(JSON.stringify(tasks), { headers });
}

/** Undefined for somebody who may not look, or could not do anything. */
async function taskFor(
  ports: FunctionPorts,
  instance: Instance,
  asker: Asker,
): Promise<object | undefined> {
  const { viewer, language } = asker;
  try {
    const levels = await loadLevels(ports, instance);
    await refuseQuery(ports, levels, viewer);
    const offers = await allowedOffers(askedOnce(ports), levels, viewer);
    if (offers.length === 0) return undefined;
    const words =
      (await wordsIn(ports, deepest(levels), viewer)) ?? (await wordsIn(ports, levels[0], viewer));
    const { workflow } = levels[0];
    return {
      // A key may belong to another instance once this one has ended.
      id: instance.id,
      instanceId: instance.key ?? instance.id,
      workflow: instance.flow,
      title: words?.title ?? pickLabel(workflow.labels, language) ?? instance.flow,
      ...(words?.description === undefined ? {} : { description: words.description }),
      createdAt: instance.createdAt,
      vNext: true,
    };
  } catch (error) {
    // Not theirs to see, or its definition is gone: no reason to hide what else there is.
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** What the data say about the task, to somebody who may see it. */
async function wordsIn(
  { instances }: FunctionPorts,
  { instance }: Level,
  viewer: Asker["viewer"],
): Promise<{ title: string | undefined; description: string | undefined } | undefined> {
  const visible = (await instances.sightOf(instance, viewer)).of(instance.data);
  const words = isJsonObject(visible) ? visible["humanTask"] : undefined;
  if (!isJsonObject(words)) return undefined;
  return { title: textIn(words["title"]), description: textIn(words["description"]) };
}

const textIn = (value: JsonValue | undefined) => (typeof value === "string" ? value : undefined);
