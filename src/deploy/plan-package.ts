/**
 * What a deployment would do, without doing it: the package is downloaded and every component is
 * shown to the runtime, which says what it would answer to its publish.
 */
import {
  isJsonObject,
  JsonError,
  toPlain,
  type JsonObject,
  type JsonValue,
} from "../engine/exact-json.ts";
import { ComponentKind } from "../engine/component-kind.ts";
import { resolveVersion } from "../engine/version.ts";
import { OutgoingFailed } from "../outgoing/http-client.ts";
import { DeployFailed } from "./deploy-failure.ts";
import { findReferences, type FoundReference } from "./find-references.ts";
import type { PackageFile } from "./package-contents.ts";
import { prepareFile, type Preparation } from "./prepare-component.ts";
import { addressOf, hasSameDefinition, type NamedComponent } from "./publish-files.ts";
import { reasonOf } from "./publish-reason.ts";
import type { PublishRequest } from "./publish-request.ts";
import { downloadPackage, type RunPorts } from "./run-publish-job.ts";
import type { RuntimeClient } from "./runtime-client.ts";
import { sideBySide } from "./side-by-side.ts";

export interface Finding {
  path: string;
  message: string;
}

export interface PlannedComponent {
  /** The file. */
  path: string;
  component: NamedComponent | null;
  /**
   * new       would be published
   * same      is there already, identical: would be skipped
   * conflict  its version is there with another definition: would fail
   * invalid   would be refused, for the reasons in `errors`
   */
  outcome: "new" | "same" | "conflict" | "invalid";
  /** The version that the runtime has now as its latest; null when it has none. */
  current: string | null;
  errors: Finding[];
  warnings: Finding[];
}

export interface ChangedWorkflow {
  domain: string;
  workflow: string;
  current: string;
  next: string;
  /** Instances that have not ended; they go on with the version they were started with. */
  openInstances: { count: number; byStatus: Record<string, number>; newest: OpenInstance[] };
}

export interface OpenInstance {
  id: string;
  key: string | null;
  flowVersion: string;
  currentState: string;
  status: string;
}

export interface Plan {
  packageName: string;
  version: string;
  domain: string;
  packageVersion: string;
  appDomain: string | null;
  summary: Record<PlannedComponent["outcome"], number>;
  components: PlannedComponent[];
  changedWorkflows: ChangedWorkflow[];
  /** Component folders that the package does not have. */
  missingFolders: string[];
}

export async function planPackage(
  ports: RunPorts,
  request: PublishRequest,
  signal: AbortSignal,
): Promise<Plan> {
  const { config, groups, missing, version } = await downloadPackage(ports, request, signal);
  const preparation: Preparation = { from: config, domain: request.domain };
  const read = groups.flat().flatMap((file) => readFile(file, preparation));
  const { runtime } = ports;
  try {
    const components = await sideBySide(read, ports.limits.concurrency, (item) =>
      "component" in item ? planComponent(item, runtime, signal) : Promise.resolve(item.planned),
    );
    markRepeats(read, components);
    await addDanglingReferences(read, components, ports, signal);
    return {
      packageName: request.spec.name,
      version,
      domain: config.domain,
      packageVersion: config.version,
      appDomain: request.domain ?? null,
      summary: summaryOf(components),
      components,
      changedWorkflows: await changedWorkflows(components, ports, signal),
      missingFolders: [...missing],
    };
  } catch (error) {
    if (!(error instanceof OutgoingFailed)) throw error;
    throw new DeployFailed(
      "RuntimeUnreachable",
      `The runtime did not answer: ${error.message} Ask again when it is back.`,
      { cause: error },
    );
  }
}

type Read = { path: string; component: JsonValue } | { path: string; planned: PlannedComponent };

function readFile({ path, text }: PackageFile, preparation: Preparation): Read[] {
  try {
    return prepareFile(text, preparation).map((component) => ({ path, component }));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const errors = [{ path: "", message: error.message }];
    const unknown = { path, component: null, current: null, warnings: [] };
    return [{ path, planned: { ...unknown, outcome: "invalid", errors } }];
  }
}

async function planComponent(
  { path, component }: { path: string; component: JsonValue },
  runtime: RuntimeClient,
  signal: AbortSignal,
): Promise<PlannedComponent> {
  const address = addressOf(component);
  const { status, body } = await runtime.validate(component, signal);
  const planned = { path, component: address ?? null, current: null, errors: [], warnings: [] };
  if (status === 200 && body !== undefined && isJsonObject(body) && address !== undefined) {
    const current = typeof body["current"] === "string" ? body["current"] : null;
    const known = { ...planned, current, warnings: warningsIn(body) };
    if (body["exists"] !== true) return { ...known, outcome: "new" };
    const there = await runtime.findComponent(address, signal);
    const isSame = there !== undefined && hasSameDefinition(component as JsonObject, there);
    if (isSame) return { ...known, outcome: "same" };
    return { ...known, outcome: "conflict", errors: [{ path: "version", message: taken }] };
  }
  if (status !== 400) {
    throw new DeployFailed(
      "RuntimeUnreachable",
      `The runtime cannot say what it would do with ${path}: it answered ${status}. Check its release and its log.`,
    );
  }
  const { message, errors } = reasonOf({ status, body });
  return { ...planned, outcome: "invalid", errors: errors ?? [{ path: "", message }] };
}

const taken =
  "The version is published with another definition. Raise the component's version, or the package's.";

const warningsIn = ({ warnings }: JsonObject): Finding[] =>
  Array.isArray(warnings) ? (toPlain(warnings) as unknown as Finding[]) : [];

/** Of two with one version the second would find the first. */
function markRepeats(read: readonly Read[], components: PlannedComponent[]): void {
  const first = new Map<string, JsonValue>();
  for (const [i, item] of read.entries()) {
    const planned = components[i]!;
    if (!("component" in item) || planned.outcome !== "new" || planned.component === null) continue;
    const name = Object.values(planned.component).join("/");
    const before = first.get(name);
    if (before === undefined) {
      first.set(name, item.component);
      continue;
    }
    const isSame = hasSameDefinition(item.component as JsonObject, before as JsonObject);
    planned.outcome = isSame ? "same" : "conflict";
    if (!isSame) {
      const message = "Another file of the package has this component in this version.";
      planned.errors.push({ path: "version", message });
    }
  }
}

async function addDanglingReferences(
  read: readonly Read[],
  components: readonly PlannedComponent[],
  { runtime, limits }: RunPorts,
  signal: AbortSignal,
): Promise<void> {
  const inPackage = new Map<string, string[]>();
  for (const { component, outcome } of components) {
    if (component === null || outcome === "invalid") continue;
    const versions = inPackage.get(addressText(component)) ?? [];
    inPackage.set(addressText(component), [...versions, component.version]);
  }
  const isInPackage = (reference: FoundReference) =>
    resolveVersion(inPackage.get(addressText(reference)) ?? [], reference.version) !== undefined;
  const unknown = read.flatMap((item, i) =>
    "component" in item && isJsonObject(item.component)
      ? findReferences(item.component)
          .filter((reference) => !isInPackage(reference))
          .map((reference) => ({ reference, planned: components[i]! }))
      : [],
  );
  const distinct = new Map(unknown.map(({ reference }) => [referenceText(reference), reference]));
  const dangling = new Set<string>();
  await sideBySide([...distinct], limits.concurrency, async ([text, reference]) => {
    if ((await runtime.findComponent(reference, signal)) === undefined) dangling.add(text);
  });
  for (const { reference, planned } of unknown) {
    if (!dangling.has(referenceText(reference))) continue;
    const { path, domain, flow, key, version } = reference;
    planned.warnings.push({
      path,
      message: `${flow} '${key}' ${version} of domain '${domain}' is neither in the package nor published.`,
    });
  }
}

const addressText = ({ domain, flow, key }: { domain: string; flow: string; key: string }) =>
  `${domain}/${flow}/${key}`;
const referenceText = (reference: FoundReference) =>
  `${addressText(reference)}@${reference.version}`;

function summaryOf(components: readonly PlannedComponent[]): Plan["summary"] {
  const summary = { new: 0, same: 0, conflict: 0, invalid: 0 };
  for (const { outcome } of components) summary[outcome] += 1;
  return summary;
}

const newestShown = 10;

async function changedWorkflows(
  components: readonly PlannedComponent[],
  { runtime, limits }: RunPorts,
  signal: AbortSignal,
): Promise<ChangedWorkflow[]> {
  const changed = components.flatMap(({ component, current, outcome }) =>
    component?.flow === ComponentKind.flow && outcome === "new" && current !== null
      ? [{ ...component, current }]
      : [],
  );
  return sideBySide(changed, limits.concurrency, async ({ domain, key, version, current }) => {
    const at = { domain, workflow: key };
    const filter = JSON.stringify({ status: { ne: "C" } });
    const groups = await runtime.listInstances(
      at,
      {
        filter,
        groupBy: JSON.stringify({ field: "status" }),
        aggregations: JSON.stringify({ count: true }),
      },
      signal,
    );
    const newest = await runtime.listInstances(
      at,
      { filter, pageSize: String(newestShown) },
      signal,
    );
    const byStatus = Object.fromEntries(
      (groups ?? []).map((group) => [statusOf(group), Number(group["count"] ?? 0)]),
    );
    const count = Object.values(byStatus).reduce((sum, each) => sum + each, 0);
    const openInstances = { count, byStatus, newest: (newest ?? []).map(openInstance) };
    return { ...at, current, next: version, openInstances };
  });
}

const statusOf = ({ keys, name }: JsonObject): string =>
  textOf(keys !== undefined && isJsonObject(keys) ? keys["status"] : name);

function openInstance({ id, key, flowVersion, metadata }: JsonObject): OpenInstance {
  const about = metadata !== undefined && isJsonObject(metadata) ? metadata : {};
  return {
    id: textOf(id),
    key: typeof key === "string" ? key : null,
    flowVersion: textOf(flowVersion),
    currentState: textOf(about["currentState"]),
    status: textOf(about["status"]),
  };
}

const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");
