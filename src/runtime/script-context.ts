/**
 * What scripts see of a run: plain values for expressions, JSON text for the sandbox. A member is
 * made when a script uses it, and the text of the instance's data and of the workflow is made once,
 * however many scripts of the run read it.
 */
import type { Transition, Workflow } from "../engine/definition/model.ts";
import { stringifyJson, type JsonValue } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import { jsonText } from "../engine/json-text.ts";
import type { Run } from "../engine/transition/run.ts";
import type { ContextMember } from "../scripting/contract.ts";
import type { ContextSource } from "../scripting/script-host.ts";
import type { Relatives } from "./read-relatives.ts";

export function scriptContext(
  run: Run,
  traceId?: string,
  read?: (members: readonly ContextMember[]) => Promise<Relatives>,
): ContextSource {
  let relatives: Relatives = {};
  return {
    values: () => expressionContext(run),
    json: (member) =>
      (relatives as Partial<Record<ContextMember, string>>)[member] ?? members[member](run),
    prepare(used) {
      if (read === undefined || !used.some((member) => readBefore.has(member))) return undefined;
      return read(used).then((found) => {
        relatives = found;
      });
    },
    origin: {
      ...(traceId === undefined ? {} : { traceId }),
      instance: run.instance.id,
      workflow: run.instance.flow,
      transition: run.hop.transition.key,
    },
  };
}

/** What is not in the run itself. */
const readBefore: ReadonlySet<ContextMember> = new Set(["Related", "Incident"]);

type Json = string | undefined;

export const json = (value: unknown): string => JSON.stringify(value) ?? "null";
export const dataJson = (value: JsonValue | undefined): string =>
  value === undefined ? "null" : jsonText(value);

const members: Record<ContextMember, (run: Run) => Json> = {
  Body: (run) => dataJson(bodyOf(run)),
  Headers: ({ headers }) => json(headers),
  QueryParameters: ({ payload }) => json(payload.sent?.query ?? null),
  RouteValues: (run) => json(routeOf(run)),
  RawBody: ({ payload }) => json(payload.sent?.rawBody ?? null),
  EventPayload: () => "null",
  Instance: ({ instance }) => instanceJson(instance),
  Workflow: ({ program }) => workflowJson(program.workflow),
  Transition: (run) => json(transitionOf(run)),
  CurrentTransition: (run) =>
    `{"Data":${dataJson(run.record.body ?? run.payload.attributes)},"Header":${json(run.headers)}}`,
  TaskResponse: (run) => stringifyJson(run.taskResponses),
  OutputResponse: () => "{}",
  MetaData: (run) => stringifyJson(run.metaData),
  Definitions: () => "{}",
  Runtime: (run) => json(runtimeOf(run)),
  Incident: ({ instance }) => incidentJson(instance),
  Related: () => nobodyRelated,
};

export const incidentJson = (instance: Instance): string =>
  json({
    HasActiveIncident: instance.hasActiveIncident,
    ActiveIncident: null,
    TotalIncidentCount: instance.incidentCount,
  });

export const nobodyRelated = json({ HasParent: false, Parent: null, Subs: [] });

const bodyOf = (run: Run): JsonValue | undefined => run.body ?? run.payload.attributes;

const routeOf = ({ instance, hop }: Run) => ({
  domain: instance.domain,
  workflow: instance.flow,
  instance: instance.id,
  transitionKey: hop.transition.key,
});

const transitionOf = ({ hop }: Run) => transitionView(hop.transition, hop.from);

export const transitionView = (transition: Transition, from: string) => ({
  Key: transition.key,
  From: from,
  Target: transition.target,
  TriggerType: pascal(transition.triggerType),
  TriggerKind: transition.triggerKind === "default" ? "DefaultAutoTransition" : "NotApplicable",
});

const runtimeOf = ({ instance, program }: Run) => ({
  Domain: instance.domain,
  Version: program.workflow.version,
});

const pascal = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

export function instanceJson(instance: Instance): string {
  const { current, effective } = instance;
  const head = json({
    Id: instance.id,
    Key: instance.key ?? null,
    Flow: instance.flow,
    FlowVersion: instance.flowVersion,
    LatestData: { Id: instance.entityEtag, Version: instance.dataVersion ?? null },
    CurrentState: current.key,
    CurrentStateType: pascal(current.type),
    CurrentStateSubType: pascal(current.subType),
    EffectiveState: effective.key,
    EffectiveStateType: pascal(effective.type),
    EffectiveStateSubType: pascal(effective.subType),
    Stage: instance.stage ?? null,
    Status: instance.status,
    EffectiveStatus: instance.status,
    Type: instance.origin?.type ?? "R",
    Tags: instance.tags,
    CreatedAt: instance.createdAt,
    ModifiedAt: instance.modifiedAt ?? null,
    CompletedAt: instance.completedAt ?? null,
    CreatedBy: instance.createdBy.actor ?? null,
    CreatedByBehalfOf: instance.createdBy.behalfOf ?? null,
    ModifiedBy: instance.modifiedBy.actor ?? null,
    ModifiedByBehalfOf: instance.modifiedBy.behalfOf ?? null,
    HasActiveIncident: instance.hasActiveIncident,
    HasActiveSubFlow: instance.openChild !== undefined,
    ActiveCorrelations: openCorrelations(instance),
  });
  return `${head.slice(0, -1)},"Data":${dataJson(instance.data)}}`;
}

const openCorrelations = ({ openChild, current }: Instance) =>
  openChild === undefined
    ? []
    : [
        {
          ParentState: current.key,
          SubFlowInstanceId: openChild.id,
          SubFlowType: "S",
          SubFlowDomain: openChild.domain,
          SubFlowName: openChild.flow,
          IsCompleted: false,
        },
      ];

const workflowTexts = new WeakMap<Workflow, string>();

export function workflowJson(workflow: Workflow): string {
  let text = workflowTexts.get(workflow);
  if (text === undefined) {
    const states = [...workflow.states.values()].map(({ key, type, subType }) => ({
      Key: key,
      StateType: pascal(type),
      SubType: pascal(subType),
    }));
    text = json({
      Key: workflow.key,
      Domain: workflow.domain,
      Flow: "sys-flows",
      Version: workflow.version,
      FlowVersion: workflow.version,
      Type: workflow.type,
      States: states,
      StateKeys: states.map((state) => state.Key),
    });
    workflowTexts.set(workflow, text);
  }
  return text;
}

function expressionContext(run: Run) {
  const { instance, program, headers } = run;
  const { workflow } = program;
  return {
    // An absent part is an empty one for expressions: a member of it is null, never an error.
    Body: bodyOf(run) ?? {},
    Headers: headers,
    QueryParameters: run.payload.sent?.query ?? {},
    RouteValues: routeOf(run),
    MetaData: run.metaData,
    CurrentTransition: { Data: run.record.body ?? run.payload.attributes ?? {}, Header: headers },
    Workflow: workflowView(workflow),
    Instance: instanceView(instance),
    Transition: transitionOf(run),
    Runtime: runtimeOf(run),
  };
}

/** As expressions see it. */
export const workflowView = (workflow: Workflow) => ({
  Key: workflow.key,
  Domain: workflow.domain,
  Flow: "sys-flows",
  Version: workflow.version,
  StateKeys: [...workflow.states.keys()],
});

export const instanceView = (instance: Instance) => ({
  Id: instance.id,
  Key: instance.key ?? null,
  Flow: instance.flow,
  CurrentState: instance.current.key,
  EffectiveState: instance.effective.key,
  EffectiveStateType: pascal(instance.effective.type),
  EffectiveStateSubType: pascal(instance.effective.subType),
  Data: instance.data ?? {},
});
