/**
 * What scripts see when an instance is read, or a function is called: no run, no transition under
 * way, and nothing they do is kept. The tasks of functions, extensions, and the rules of view and
 * schema slots are such scripts.
 */
import type { Transition, Workflow } from "../engine/definition/model.ts";
import { stringifyJson, type JsonValue } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import type { ContextMember } from "../scripting/contract.ts";
import type { ContextSource } from "../scripting/script-host.ts";
import type { Asker } from "./asker.ts";
import {
  dataJson,
  incidentJson,
  instanceJson,
  instanceView,
  json,
  nobodyRelated,
  transitionView,
  workflowJson,
  workflowView,
} from "./script-context.ts";

export interface Reading {
  readonly asker: Asker;
  /** Of the function or extension that runs, else of the instance. */
  readonly domain: string;
  readonly version: string;
  /** None in a function of a domain. */
  readonly instance: Instance | undefined;
  readonly workflow: Workflow | undefined;
  /** The one whose view or schema is chosen. */
  readonly transition?: Transition | undefined;
  readonly body: JsonValue | undefined;
  readonly taskResponses: Readonly<Record<string, JsonValue>>;
  /** What the output handlers of the tasks before answered, by the same names. */
  readonly outputResponses: Readonly<Record<string, JsonValue>>;
  readonly metaData: Readonly<Record<string, JsonValue>>;
}

/** Where nothing has run yet. */
export const nothingRun = { taskResponses: {}, outputResponses: {}, metaData: {} } as const;

export function readContext(reading: Reading): ContextSource {
  const { asker, instance } = reading;
  return {
    values: () => expressionContext(reading),
    json: (member) => members[member](reading),
    origin: {
      ...(asker.traceId === undefined ? {} : { traceId: asker.traceId }),
      ...(asker.route["function"] === undefined ? {} : { function: asker.route["function"] }),
      ...(instance === undefined ? {} : { instance: instance.id, workflow: instance.flow }),
    },
  };
}

const members: Record<ContextMember, (reading: Reading) => string> = {
  Body: ({ body }) => dataJson(body),
  Headers: ({ asker }) => json(asker.headers),
  QueryParameters: ({ asker }) => json(asker.query),
  RouteValues: ({ asker }) => json(asker.route),
  RawBody: ({ asker }) => json(asker.rawBody ?? null),
  EventPayload: () => "null",
  Instance: ({ instance }) => (instance === undefined ? "null" : instanceJson(instance)),
  Workflow: ({ workflow }) => (workflow === undefined ? "null" : workflowJson(workflow)),
  Transition: (reading) => json(transitionOf(reading)),
  CurrentTransition: () => "null",
  TaskResponse: ({ taskResponses }) => stringifyJson(taskResponses),
  OutputResponse: ({ outputResponses }) => stringifyJson(outputResponses),
  MetaData: ({ metaData }) => stringifyJson(metaData),
  Definitions: () => "{}",
  Runtime: ({ domain, version }) => json({ Domain: domain, Version: version }),
  Incident: ({ instance }) => (instance === undefined ? "null" : incidentJson(instance)),
  Related: () => nobodyRelated,
};

const transitionOf = ({ transition, instance }: Reading) =>
  transition === undefined ? null : transitionView(transition, instance?.current.key ?? "");

const expressionContext = (reading: Reading) => ({
  // An absent part is an empty one for expressions: a member of it is null, never an error.
  Body: reading.body ?? {},
  Headers: reading.asker.headers,
  QueryParameters: reading.asker.query,
  RouteValues: reading.asker.route,
  MetaData: reading.metaData,
  CurrentTransition: null,
  Workflow: reading.workflow === undefined ? null : workflowView(reading.workflow),
  Instance: reading.instance === undefined ? null : instanceView(reading.instance),
  Transition: transitionOf(reading),
  Runtime: { Domain: reading.domain, Version: reading.version },
});
