/**
 * What scripts may want to know beyond the run itself: the parent and the children of the instance,
 * and its open incident. A script cannot call out, so it is read before; only for a script that may
 * look at it.
 */
import type { ScriptCode } from "../engine/definition/script-code.ts";
import { jsonText } from "../engine/json-text.ts";
import type { Instance } from "../engine/instance.ts";
import type { Run } from "../engine/transition/run.ts";
import { limits, type ContextMember } from "../scripting/contract.ts";
import type { IncidentStore } from "../storage/incident-store.ts";
import type { Correlation, InstanceStore } from "../storage/instance-store.ts";

export interface RelativePorts {
  store: Pick<InstanceStore, "find" | "correlations" | "correlationOf">;
  incidents: Pick<IncidentStore, "active">;
}

/** JSON texts of the members that were read. */
export type Relatives = Partial<Record<"Related" | "Incident", string>>;

export async function readRelatives(
  ports: RelativePorts,
  run: Run,
  script: ScriptCode,
  members: readonly ContextMember[],
): Promise<Relatives> {
  const mentions = (name: "Related" | "Incident") =>
    members.includes(name) && (hasHelpers(run, script) || script.code.includes(name));
  const { instance } = run;
  return {
    ...(mentions("Related") ? { Related: await relatedJson(ports, instance) } : {}),
    ...(mentions("Incident") && instance.hasActiveIncident
      ? { Incident: await incidentJson(ports, run) }
      : {}),
  };
}

/** What stands in helpers, or in a mapping that is referred to, is not seen here. */
const hasHelpers = ({ program }: Run, script: ScriptCode) =>
  script.ref !== undefined || script.helpers.length + program.workflow.helpers.length > 0;

/** The run's own, which may not be on disk yet, else the newest that is. */
async function incidentJson(
  { incidents }: RelativePorts,
  { instance, pending }: Run,
): Promise<string> {
  const own = pending.incidents.findLast(({ isResolved }) => !isResolved);
  const open =
    own === undefined
      ? await incidents.active(instance.id)
      : { ...own, ...own.failure, errorCode: own.failure.code, errorLayer: own.failure.layer };
  return JSON.stringify({
    HasActiveIncident: instance.hasActiveIncident,
    ActiveIncident:
      open === undefined
        ? null
        : {
            state: open.state,
            transition: open.transition,
            task: open.task ?? null,
            message: open.message,
            errorCode: open.errorCode ?? null,
            errorLayer: open.errorLayer ?? null,
            statusCode: open.statusCode ?? null,
            retryCount: open.retryCount,
          },
    TotalIncidentCount: instance.incidentCount,
  });
}

async function relatedJson(ports: RelativePorts, instance: Instance): Promise<string> {
  const { store } = ports;
  const children = await store.correlations(instance.id);
  // Most recent ones when there are very many: a script may ask for ten at most.
  const known = children.slice(-mostChildren);
  const subs = await Promise.all(known.map((child) => subJson(ports, child)));
  const parent =
    instance.origin === undefined ? "null" : await parentJson(ports, instance.origin.parent);
  const HasParent = instance.origin !== undefined;
  return `{"HasParent":${HasParent},"Parent":${parent},"Subs":[${subs.filter((text) => text !== undefined).join(",")}]}`;
}

const mostChildren = 10 * limits.relatedReads;

async function parentJson(
  { store }: RelativePorts,
  { id, domain, flow }: { id: string; domain: string; flow: string },
): Promise<string> {
  const parent = await store.find({ domain, flow, reference: id });
  return parent === undefined ? "null" : viewJson(parent, undefined);
}

async function subJson(
  { store }: RelativePorts,
  correlation: Correlation,
): Promise<string | undefined> {
  const { childId, childDomain: domain, childFlow: flow } = correlation;
  const child = await store.find({ domain, flow, reference: childId });
  return child === undefined ? undefined : viewJson(child, correlation);
}

function viewJson(instance: Instance, correlation: Correlation | undefined): string {
  const { id, key, domain, flow, flowVersion, status, current, data } = instance;
  const head = JSON.stringify({
    InstanceId: id,
    Key: key ?? null,
    Domain: domain,
    Flow: flow,
    FlowVersion: flowVersion,
    Status: status,
    CurrentState: current.key,
    IsCompleted: status === "C",
    CorrelationCompleted: correlation === undefined ? null : correlation.completedAt !== undefined,
    TerminalOutcome:
      correlation?.outcome === undefined
        ? null
        : correlation.outcome.charAt(0).toUpperCase() + correlation.outcome.slice(1),
    SubFlowType: correlation?.type ?? null,
  });
  return `${head.slice(0, -1)},"Data":${data === undefined ? "null" : jsonText(data)}}`;
}
