/**
 * What extensions add to an instance that is read. Global ones run whenever an instance of their
 * domain is read, the others as its workflow and the request name them; see `isWanted`.
 *
 * A task that reads an instance gets the extensions it names and no others: one that runs by itself
 * and reads an instance would otherwise cause itself.
 */
import type { ComponentVersion } from "../engine/component.ts";
import { ComponentKind } from "../engine/component-kind.ts";
import { normaliseExtension, type Extension } from "../engine/definition/normalise-extension.ts";
import type { Workflow } from "../engine/definition/model.ts";
import { variableName } from "../engine/definition/variable-name.ts";
import { isJsonObject, setMember, type JsonObject, type JsonValue } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import { Problem } from "../engine/problem.ts";
import { problems } from "../engine/problems.ts";
import { StepFailed } from "../engine/task-failure.ts";
import type { TaskOutcome } from "../engine/transition/happenings.ts";
import { mostTriggers } from "../tasks/trigger-call.ts";
import type { Asker } from "./asker.ts";
import type { Catalogue } from "./catalogue.ts";
import { loadWorkflow } from "./load-program.ts";
import { nothingRun } from "./read-context.ts";
import { runReadTasks, type ReadTaskPorts } from "./run-read-tasks.ts";

export type RunExtensions = (
  instance: Instance,
  requested: readonly string[],
  asker: Asker,
  onFailed?: OnFailed,
) => Promise<JsonObject>;

/** Told of one that fails, which is left out then. */
export type OnFailed = (problem: Problem) => void;

export const nothingAdded: JsonObject = Object.freeze({});

/** By variable name; without `onFailed`, throws `Extension:600001` for the first that fails. */
export async function runExtensions(
  ports: ReadTaskPorts,
  instance: Instance,
  requested: readonly string[],
  asker: Asker,
  onFailed?: OnFailed,
): Promise<JsonObject> {
  const { domain, flow, flowVersion: version } = instance;
  const isByTask = asker.triggerDepth > 0;
  if (isByTask && requested.length === 0) return nothingAdded;
  const workflow = await loadWorkflow(ports.catalogue, { domain, workflow: flow, version });
  const known = await extensionsFor(ports.catalogue, domain, workflow);
  if (known.length === 0) return nothingAdded;
  const names = new Set(requested.map((name) => name.trim().toLowerCase()));
  const wanted = known.filter(
    ({ extension, isListed }) =>
      extension.scope !== "getAllInstances" && isWanted(extension, { isListed, names, isByTask }),
  );
  const results = await Promise.all(
    wanted.map(async ({ extension }): Promise<[string, JsonValue][]> => {
      try {
        const data = await runExtension(ports, extension, { instance, workflow, asker });
        return [[variableName(extension.key), data ?? null]];
      } catch (error) {
        if (onFailed === undefined || !(error instanceof Problem)) throw error;
        onFailed(error);
        return [];
      }
    }),
  );
  const extensions: JsonObject = {};
  for (const [name, data] of results.flat()) setMember(extensions, name, data);
  return extensions;
}

interface Known {
  readonly extension: Extension;
  /** By the workflow. */
  readonly isListed: boolean;
}

/** Global ones first, then the workflow's, in its order. */
async function extensionsFor(
  catalogue: Catalogue,
  domain: string,
  { extensions: references }: Workflow,
): Promise<Known[]> {
  const global = await globalsOf(catalogue, domain);
  const listed: Extension[] = [];
  for (const { domain: at, key, version } of references) {
    const address = { domain: at, kind: ComponentKind.extension, key };
    // Packages are published file by file: what is not there yet adds nothing.
    const found = await catalogue.find(address, version);
    if (found === undefined) continue;
    const extension = await catalogue.compiled(found, normaliseExtension);
    const isThere = [...global, ...listed].some((it) => it.key === key && it.domain === at);
    if (!isThere) listed.push(extension);
  }
  return [
    ...global.map((extension) => ({ extension, isListed: false })),
    ...listed.map((extension) => ({ extension, isListed: true })),
  ];
}

/** Looked for once, until another extension is published: every read asks for them. */
function globalsOf(catalogue: Catalogue, domain: string): Promise<readonly Extension[]> {
  const published = catalogue.latest(domain, ComponentKind.extension);
  let globals = globalsIn.get(published);
  if (globals === undefined) {
    globals = Promise.all(published.map((found) => catalogue.compiled(found, normaliseExtension)))
      .then((all) => all.filter(isGlobal).toSorted((a, b) => (a.key < b.key ? -1 : 1)))
      .catch((error: unknown) => {
        globalsIn.delete(published);
        throw error;
      });
    globalsIn.set(published, globals);
  }
  return globals;
}

const globalsIn = new WeakMap<readonly ComponentVersion[], Promise<readonly Extension[]>>();

const isGlobal = ({ type }: Extension) => type === "global" || type === "globalAndRequested";

function isWanted(
  { type, key }: Extension,
  {
    isListed,
    names,
    isByTask,
  }: { isListed: boolean; names: ReadonlySet<string>; isByTask: boolean },
): boolean {
  const isRequested = names.has(key.toLowerCase()) || names.has(variableName(key).toLowerCase());
  if (isByTask && !isRequested) return false;
  switch (type) {
    case "global":
      return true;
    case "globalAndRequested":
      return isRequested;
    case "definedFlows":
      return isListed && (names.size === 0 || isRequested);
    case "definedFlowAndRequested":
      return isListed && isRequested;
  }
}

interface Read {
  readonly instance: Instance;
  readonly workflow: Workflow;
  readonly asker: Asker;
}

async function runExtension(
  ports: ReadTaskPorts,
  { key, domain, version, task }: Extension,
  { instance, workflow, asker }: Read,
): Promise<JsonValue | undefined> {
  const failed = (reason: string, cause?: unknown) =>
    problems.extensionFailed({ key, reason }, { target: key, cause });
  if (task === undefined) return undefined;
  if (asker.triggerDepth > mostTriggers) {
    throw failed(`${mostTriggers} reads led to it, each caused by the one before.`);
  }
  const groups = [{ order: task.order, tasks: [task] }];
  try {
    const { last } = await runReadTasks(
      ports,
      { groups, helpers: [] },
      { ...nothingRun, asker, domain, version, instance, workflow, body: undefined },
    );
    return last === undefined ? undefined : outputOf(last);
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    throw failed(error.failure.message, error);
  }
}

/** What the output handler answered; without one, the answer's data. */
export function outputOf({ data, response }: TaskOutcome): JsonValue | undefined {
  if (data !== undefined) return data;
  return isJsonObject(response) ? (response["data"] ?? undefined) : undefined;
}
