/**
 * Decides whether a published component is right. All mistakes are found in one go: the structure
 * (JSON Schemas) and the rules about it, which bear with whatever shape the structure is in.
 */
import { ComponentKind, componentKinds, isComponentKind } from "../component-kind.ts";
import { checkExtension } from "./check-extension.ts";
import { checkFunction } from "./check-function.ts";
import { checkMapping } from "./check-mapping.ts";
import { checkSchema } from "./check-schema.ts";
import { createStructureChecks, type StructureCheck } from "./check-structure.ts";
import { checkTask } from "./check-task.ts";
import { checkView } from "./check-view.ts";
import { checkWorkflow, namingThePlace } from "./check-workflow.ts";
import { workflowType } from "./enumerations.ts";
import { at, type CheckResult, createReport, type Report } from "./findings.ts";
import { asList, asObject, asText, isPresent, type JsonObject, show } from "./json.ts";

export interface DefinitionChecker {
  /** A whole publish body, of the kind its `flow` names, with the seed records in its `data`. */
  check(component: unknown, options: CheckOptions): CheckResult;
  /** One seed record of a system flow: an item of `data`, checked as a component of that kind. */
  checkSeed(kind: ComponentKind, item: unknown, domain: string): CheckResult;
}

export interface CheckOptions {
  /** The runtime endpoint requires it; the deployment path takes `version` in its place. */
  readonly requireFlowVersion: boolean;
}

type AttributesCheck = (
  report: Report,
  path: string,
  attributes: JsonObject,
  component: JsonObject,
) => void;

const attributesChecks: Record<ComponentKind, AttributesCheck> = {
  [ComponentKind.flow]: checkWorkflow,
  [ComponentKind.task]: checkTask,
  [ComponentKind.schema]: checkSchema,
  [ComponentKind.view]: checkView,
  [ComponentKind.function]: checkFunction,
  [ComponentKind.extension]: checkExtension,
  [ComponentKind.mapping]: checkMapping,
};

/** `schemas`: the parsed files of `schemas/`, by any name; they know each other by `$id`. */
export function createDefinitionChecker(
  schemas: Readonly<Record<string, object>>,
): DefinitionChecker {
  const structure = createStructureChecks(schemas);
  const checkEnvelope = structure("publish-input.json");
  const checkRecord = structure("publish-input.json#/$defs/dataItem");
  const attributesStructure = new Map<ComponentKind, StructureCheck>(
    componentKinds.map((kind) => [kind, structure(`${kind}.json#/$defs/attributes`)]),
  );

  function checkAttributes(report: Report, path: string, owner: JsonObject, kind: ComponentKind) {
    const attributes = asObject(owner["attributes"]);
    if (attributes === undefined) return;
    const place = at(path, "attributes");
    const named = kind === ComponentKind.flow ? namingThePlace(report, place, attributes) : report;
    attributesStructure.get(kind)?.(named, place, attributes);
    attributesChecks[kind](report, place, attributes, owner);
  }

  function checkSeeds(report: Report, component: JsonObject) {
    const store = asText(component["key"]);
    if (store === undefined || !isComponentKind(store) || !isSystemFlow(component)) return;
    for (const [i, item] of asList(component["data"]).entries()) {
      const seed = asObject(item);
      if (seed !== undefined) checkAttributes(report, at("data", i), seed, store);
    }
  }

  return {
    check(component, { requireFlowVersion }) {
      const body = asObject(component);
      const report = createReport({
        lenient: body !== undefined && isSystemFlow(body),
        domain: asText(body?.["domain"]),
      });
      checkEnvelope(report, "", component);
      if (body === undefined) return report.result();
      checkFlowVersion(report, body, requireFlowVersion);
      checkTags(report, body);
      const kind = checkKind(report, body["flow"]);
      if (kind !== undefined) checkAttributes(report, "", body, kind);
      checkSeeds(report, body);
      return report.result();
    },

    checkSeed(kind, item, domain) {
      const report = createReport({ lenient: true, domain });
      checkRecord(report, "", item);
      const seed = asObject(item);
      if (seed !== undefined) checkAttributes(report, "", seed, kind);
      return report.result();
    },
  };
}

/** A redefinition of a built-in flow (`sys-tasks` in `sys-flows`), or any workflow of type core. */
function isSystemFlow(component: JsonObject): boolean {
  if (component["flow"] !== ComponentKind.flow) return false;
  const key = asText(component["key"]);
  const type = asObject(component["attributes"])?.["type"];
  return (key !== undefined && isComponentKind(key)) || workflowType.read(type) === "core";
}

function checkKind(report: Report, flow: unknown): ComponentKind | undefined {
  const kind = asText(flow);
  if (kind === undefined) return undefined;
  if (isComponentKind(kind)) return kind;
  // Text outside the alphabet has its own message.
  if (!/^[a-zA-Z0-9-]{1,100}$/.test(kind)) return undefined;
  report.mistake(
    "flow",
    `${show(kind)} is no kind of component; 'flow' must be one of ${componentKinds.join(", ")}.`,
  );
  return undefined;
}

function checkFlowVersion(report: Report, body: JsonObject, required: boolean): void {
  if (body["flowVersion"] !== undefined) return;
  if (required) {
    report.mistake(
      "flowVersion",
      "'flowVersion' is required and missing: the version of the flow that owns the component.",
    );
  } else {
    report.warning("flowVersion", "'flowVersion' is missing; the default is the version.");
  }
}

function checkTags(report: Report, body: JsonObject): void {
  if (!isPresent(body["tags"])) report.warning("tags", "'tags' is missing; the default is [].");
}
