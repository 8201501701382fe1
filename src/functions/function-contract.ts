/** What a function tells about itself: its verbs, its address, and the views and schemas around it. */
import { ComponentKind } from "../engine/component-kind.ts";
import type { SlotEntry } from "../engine/definition/model.ts";
import type {
  FunctionDefinition,
  FunctionTarget,
} from "../engine/definition/normalise-function.ts";
import { functionVerb } from "../engine/definition/enumerations.ts";
import { problems } from "../engine/problems.ts";
import type { Asker } from "../runtime/asker.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { nothingRun, type Reading } from "../runtime/read-context.ts";
import { builtInNeedsQueryRoles, isHumanTask } from "./built-in-names.ts";
import { scopeLetters } from "./call-catalog.ts";
import { answerJson, answerWith, type FunctionAnswer } from "./function-answer.ts";
import { findFunction, refuseFunction, type FunctionPlace } from "./function-gate.ts";
import { domainFunctionHref, functionHref, queryText } from "./hrefs.ts";
import { parameter } from "./instance-call.ts";
import { pickEntry } from "./pick-entry.ts";
import { showSchema } from "./show-schema.ts";
import { showView } from "./show-view.ts";

export interface Discovery {
  readonly key: string;
  readonly place: FunctionPlace;
  readonly asker: Asker;
}

export async function functionInfo(
  ports: FunctionPorts,
  discovery: Discovery,
): Promise<FunctionAnswer> {
  const { place, asker, key } = discovery;
  const { definition, version } = await discovered(ports, discovery);
  const reading = contractReading(definition, place, asker);
  const href =
    place.instance === undefined
      ? domainFunctionHref(place.domain, key)
      : functionHref(place.instance, key);
  const pinned = version === undefined ? [] : ([["version", version]] as const);
  const slotHref = (slot: string, target: FunctionTarget) =>
    `${href}/${slot}${queryText([["target", target], ...pinned])}`;
  // Whether the address would answer now: packages are published file by file.
  const isThere = async (entry: SlotEntry | undefined, kind: ComponentKind) =>
    entry !== undefined &&
    (await ports.catalogue.find({ ...entry.reference, kind }, entry.reference.version)) !==
      undefined;
  const viewSlot = async (target: FunctionTarget) => {
    const entry = await pickEntry(ports, definition.views[target], reading);
    const hasView = await isThere(entry, ComponentKind.view);
    return { href: slotHref("view", target), hasView, loadData: entry?.loadData ?? false };
  };
  const schemaSlot = async (target: FunctionTarget) => {
    const entry = await pickEntry(ports, definition.schemas[target], reading);
    const hasSchema = await isThere(entry, ComponentKind.schema);
    return { href: slotHref("schema", target), hasSchema };
  };
  const [inputView, outputView] = [await viewSlot("input"), await viewSlot("output")];
  const [inputSchema, outputSchema] = [await schemaSlot("input"), await schemaSlot("output")];
  const { domain, verbs, scope, rawResponse, cache } = definition;
  const invocation = `${href}${queryText(pinned)}`;
  return answerWith({
    key,
    domain,
    version: definition.version,
    scope: scopeLetters[scope],
    function: { href: invocation, verbs },
    href: invocation,
    // Whoever reads only this one wants to know what they may send.
    verbs: verbs.length === 0 ? functionVerb.words : verbs,
    hasView: inputView.hasView || outputView.hasView,
    hasSchema: inputSchema.hasSchema || outputSchema.hasSchema,
    rawResponse,
    cacheable: cache !== undefined,
    inputView,
    outputView,
    inputSchema,
    outputSchema,
  });
}

export async function functionView(
  ports: FunctionPorts,
  discovery: Discovery,
): Promise<FunctionAnswer> {
  const { key, place, asker } = discovery;
  const { definition } = await discovered(ports, discovery);
  const target = targetOf(asker);
  const reading = contractReading(definition, place, asker);
  const entry = await pickEntry(ports, definition.views[target], reading);
  if (entry === undefined) throw problems.functionSlotEmpty({ key, target, what: "view" });
  return answerJson(await showView(ports, entry.reference, asker));
}

export async function functionSchema(
  ports: FunctionPorts,
  discovery: Discovery,
): Promise<FunctionAnswer> {
  const { key, place, asker } = discovery;
  const { definition } = await discovered(ports, discovery);
  const target = targetOf(asker);
  const reading = contractReading(definition, place, asker);
  const entry = await pickEntry(ports, definition.schemas[target], reading);
  if (entry === undefined) throw problems.functionSlotEmpty({ key, target, what: "schema" });
  return answerJson(await showSchema(ports, entry.reference, place.instance, asker.viewer));
}

/** Who asks for a contract sends no body: its rules see the instance's data there; none in a domain. */
const contractReading = (
  { domain, version }: FunctionDefinition,
  { instance, workflow }: FunctionPlace,
  asker: Asker,
): Reading => ({ ...nothingRun, asker, domain, version, instance, workflow, body: instance?.data });

/** The same gate as before a call. What is built in tells nothing about itself. */
async function discovered(
  ports: FunctionPorts,
  { key, place, asker }: Discovery,
): Promise<{ definition: FunctionDefinition; version: string | undefined }> {
  const isBuiltIn =
    place.instance === undefined ? isHumanTask(key) : builtInNeedsQueryRoles(key) !== undefined;
  if (isBuiltIn) {
    throw problems.nothingThere({ what: `The function '${key}' is built in and has no contract.` });
  }
  const version = parameter(asker, "version")?.replaceAll(" ", "+");
  const found = await findFunction(ports, place, key, version);
  await refuseFunction(ports, found, place, asker.viewer);
  return { definition: found.definition, version };
}

function targetOf(asker: Asker): FunctionTarget {
  const target = parameter(asker, "target")?.toLowerCase() ?? "input";
  if (target === "input" || target === "output") return target;
  throw problems.functionTargetUnknown({ target });
}
