/**
 * Publishes one component, and the seed records it carries in `data[]`.
 *
 * Order, as clients of the public system know it: the domain is checked, then an existing version
 * is a conflict (whatever else the body says), then the definition is checked whole. On 400 nothing
 * is stored. On 409 the `data[]` part has still been processed.
 */
import type { ComponentVersion } from "../engine/component.ts";
import { normaliseWorkflow } from "../engine/definition/normalise-workflow.ts";
import { ComponentKind, isComponentKind } from "../engine/component-kind.ts";
import type { DefinitionChecker } from "../engine/definition/check-component.ts";
import { errorsByPath, type CheckResult, type Finding } from "../engine/definition/findings.ts";
import { readHelpers } from "../engine/definition/script-code.ts";
import { scriptSlotsIn } from "../engine/definition/script-slots.ts";
import { stringifyJson, toPlain, type JsonValue } from "../engine/exact-json.ts";
import { problems } from "../engine/problems.ts";
import type { Author, InstanceState } from "../engine/instance.ts";
import type {
  ComponentStore,
  NewComponentVersion,
  SeedInstance,
} from "../storage/component-store.ts";
import type { ScriptHost } from "../scripting/script-host.ts";
import type { Catalogue } from "./catalogue.ts";

export interface PublishPorts {
  scripts: ScriptHost;
  components: ComponentStore;
  catalogue: Catalogue;
  checker: DefinitionChecker;
  /** The one domain this runtime serves; empty = all. */
  domain: string;
}

export interface Published {
  key: string;
  flow: string;
  domain: string;
  version: string;
  warnings: readonly Finding[];
}

export interface PublishOptions {
  requireFlowVersion: boolean;
  author: Author;
}

export async function publishComponent(
  ports: PublishPorts,
  body: unknown,
  options: PublishOptions,
): Promise<Published> {
  const { root, conflict, seeds, warnings } = await checkPublish(ports, body, options);
  const instances = await seedInstancesOf(ports, root, body as SeedBody, conflict);
  const outcome = await ports.components.publish(
    conflict ? seeds : [root, ...seeds],
    instances,
    options.author,
  );
  ports.catalogue.add(outcome.stored);
  if (conflict || outcome.existing.includes(root)) {
    const { domain, kind: flow, key, version } = root;
    throw problems.versionAlreadyPublished({ domain, flow, key, version });
  }
  return publishedOf(root, warnings);
}

export interface Validated extends Published {
  /** Its publish would be a conflict. */
  exists: boolean;
  /** The latest version there is; undefined for a component that is new. */
  current: string | undefined;
}

/** What a publish would say, without doing it. Throws the same refusals, but for the conflict. */
export async function validateComponent(
  ports: PublishPorts,
  body: unknown,
  options: Pick<PublishOptions, "requireFlowVersion">,
): Promise<Validated> {
  const { root, conflict, warnings } = await checkPublish(ports, body, options);
  const latest = await ports.catalogue.find(root);
  return { ...publishedOf(root, warnings), exists: conflict, current: latest?.version };
}

interface CheckedPublish {
  root: NewComponentVersion;
  /** The version exists. */
  conflict: boolean;
  seeds: NewComponentVersion[];
  warnings: readonly Finding[];
}

async function checkPublish(
  ports: PublishPorts,
  body: unknown,
  { requireFlowVersion }: Pick<PublishOptions, "requireFlowVersion">,
): Promise<CheckedPublish> {
  // Checked as doubles, stored digit for digit.
  const { mistakes, warnings } = ports.checker.check(toPlain(body as JsonValue), {
    requireFlowVersion,
  });
  const root = rootOf(body);

  if (root !== undefined && ports.domain !== "" && root.domain !== ports.domain) {
    throw problems.wrongDomain({ domain: root.domain, served: ports.domain });
  }
  const conflict = root !== undefined && (await versionExists(ports, root));
  const blocking = conflict ? mistakes.filter((m) => m.path.startsWith("data")) : mistakes;
  if (root === undefined || blocking.length > 0) {
    const kind = root?.kind ?? "unknown";
    throw problems.componentInvalid(
      { kind, count: blocking.length },
      { errors: errorsByPath(blocking) },
    );
  }

  const seeds = seedsOf(root, body as SeedBody);
  const found = await checkScripts(ports, root, seeds, conflict);
  if (found.mistakes.length > 0) {
    const facts = { kind: root.kind, count: found.mistakes.length };
    throw problems.componentInvalid(facts, { errors: errorsByPath(found.mistakes) });
  }
  return {
    root,
    conflict,
    seeds,
    warnings: [...warnings, ...found.warnings, ...idleData(root, body as SeedBody)],
  };
}

const publishedOf = (root: NewComponentVersion, warnings: readonly Finding[]): Published => ({
  key: root.key,
  flow: root.kind,
  domain: root.domain,
  version: root.version,
  warnings,
});

interface RootBody {
  key?: unknown;
  flow?: unknown;
  domain?: unknown;
  version?: unknown;
  flowVersion?: unknown;
  tags?: unknown;
  attributes?: unknown;
}

/** The component to store, or undefined when the body does not even say which one it is. */
function rootOf(body: unknown): NewComponentVersion | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const { key, flow, domain, version, flowVersion, tags, attributes } = body as RootBody;
  if (typeof key !== "string" || typeof domain !== "string" || typeof version !== "string") {
    return undefined;
  }
  if (typeof flow !== "string" || !isComponentKind(flow)) return undefined;
  return {
    domain,
    kind: flow,
    key,
    version,
    flowVersion: typeof flowVersion === "string" ? flowVersion : version,
    tags: Array.isArray(tags) ? (tags as string[]) : [],
    attributesText: stringifyJson(attributes ?? {}),
  };
}

const versionExists = async (ports: PublishPorts, root: NewComponentVersion): Promise<boolean> =>
  isExactly(await ports.catalogue.find(root, root.version), root.version);

const isExactly = (found: ComponentVersion | undefined, version: string) =>
  found?.version === version;

interface SeedBody {
  /** Real packages write null for none. */
  data?: null | { key: string; version: string; tags?: string[]; attributes: object }[];
}

/** The kind whose components the record's seeds become: that of the system flow it redefines. */
const seededKind = ({ kind, key }: NewComponentVersion): ComponentKind | undefined =>
  kind === ComponentKind.flow && isComponentKind(key) ? key : undefined;

/** Seeds nobody stores are told of. */
function idleData(root: NewComponentVersion, { data }: SeedBody): Finding[] {
  const count = data?.length ?? 0;
  if (count === 0 || root.kind === ComponentKind.flow) return [];
  const message = `Only workflows (${ComponentKind.flow}) have seed records; ${count === 1 ? "this one is" : `these ${count} are`} not stored.`;
  return [{ path: "data", message }];
}

/** Seeds of a system flow are components of its kind: `sys-tasks` with `data` of task definitions. */
function seedsOf(root: NewComponentVersion, body: SeedBody): NewComponentVersion[] {
  const kind = seededKind(root);
  if (kind === undefined) return [];
  return (body.data ?? []).map((item) => ({
    domain: root.domain,
    kind,
    key: item.key,
    version: item.version,
    flowVersion: root.version,
    tags: item.tags ?? [],
    attributesText: stringifyJson(item.attributes),
  }));
}

/** Seeds of any other workflow are instances of it, at rest in its initial state. */
async function seedInstancesOf(
  ports: PublishPorts,
  root: NewComponentVersion,
  body: SeedBody,
  conflict: boolean,
): Promise<SeedInstance[]> {
  const data = body.data ?? [];
  const { domain, kind, key: flow, version } = root;
  if (data.length === 0 || kind !== ComponentKind.flow || seededKind(root) !== undefined) return [];
  // On a conflict the body's definition counts for nothing: the published one is the truth.
  const attributes = conflict ? await publishedAttributes(ports, root) : root.attributesText;
  const { states, initialState } = normaliseWorkflow({
    key: flow,
    domain,
    version,
    attributes: JSON.parse(attributes) as Record<string, unknown>,
  });
  const { key, type, subType } = states.get(initialState)!;
  const state: InstanceState = { key, type, subType };
  return data.map((item) => ({
    domain,
    flow,
    flowVersion: version,
    state,
    key: item.key,
    version: item.version,
    tags: item.tags ?? [],
    dataText: stringifyJson(item.attributes),
  }));
}

async function publishedAttributes(
  ports: PublishPorts,
  root: NewComponentVersion,
): Promise<string> {
  const found = await ports.catalogue.find(root, root.version);
  return (await ports.catalogue.load(found!)).attributesText;
}

/** Every script is compiled once, here; what does not compile is refused with its slot and place. */
async function checkScripts(
  { scripts }: PublishPorts,
  root: NewComponentVersion,
  seeds: readonly NewComponentVersion[],
  conflict: boolean,
): Promise<CheckResult> {
  const mistakes: Finding[] = [];
  const warnings: Finding[] = [];
  const check = async ({ kind, domain, attributesText }: NewComponentVersion, at: string) => {
    const attributes = JSON.parse(attributesText) as Record<string, unknown>;
    const helpers = readHelpers(attributes["scripts"], { domain });
    for (const { path, script } of scriptSlotsIn(kind, attributes, { domain })) {
      const found = await scripts.check(script, helpers);
      for (const message of found.mistakes) mistakes.push({ path: `${at}${path}.code`, message });
      for (const message of found.warnings) warnings.push({ path: `${at}${path}`, message });
    }
  };
  if (!conflict) await check(root, "");
  for (const [i, seed] of seeds.entries()) await check(seed, `data[${i}].`);
  return { mistakes, warnings };
}
