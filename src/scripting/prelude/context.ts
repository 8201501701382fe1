import {
  contextMembers,
  type ContextMember,
  type InstanceData,
  type RelatedData,
  type ScriptAnswer,
  type ScriptCall,
} from "../contract.ts";
import { InvalidOperationException, isBlank } from "./errors.ts";
import { toHeaderMap } from "./headers.ts";
import { instanceSnapshot } from "./instance.ts";
import { isObject, setOwn, toJson } from "./json.ts";
import { mergeBody } from "./merge.ts";
import { InstanceMutations } from "./mutations.ts";
import { relatedInstances } from "./related.ts";
import type { ScriptContext, StandardTaskResponse } from "./script-context.ts";

type Changes = Pick<
  ScriptAnswer,
  "body" | "taskResponse" | "outputResponse" | "metaData" | "stage"
>;

/** The context of one call, and what the script has done to it. */
export function createContext(call: Pick<ScriptCall, "context" | "members">): {
  context: ScriptContext;
  changes: () => Changes;
} {
  const sent = call.context;
  const written: { body: boolean; tasks: string[]; outputs: string[] } = {
    body: false,
    tasks: [],
    outputs: [],
  };
  const metaData = objectOf(sent.MetaData);
  const metaDataBefore = textByName(metaData);
  const mutations = new InstanceMutations();

  const mergeIntoBody = (content: unknown): unknown => {
    const value = toJson(content);
    if (value === null) return null;
    own.Body = mergeBody(own.Body, value);
    written.body = true;
    return value;
  };

  const own = {
    Body: (sent.Body ?? null) as unknown,
    Headers: toHeaderMap(sent.Headers),
    QueryParameters: sent.QueryParameters ?? null,
    RouteValues: sent.RouteValues ?? null,
    RawBody: sent.RawBody ?? null,
    EventPayload: sent.EventPayload ?? null,
    Instance: isObject(sent.Instance)
      ? instanceSnapshot(sent.Instance as unknown as InstanceData)
      : null,
    Workflow: workflowInfo(sent.Workflow),
    Transition: sent.Transition ?? null,
    CurrentTransition: isObject(sent.CurrentTransition)
      ? {
          ...sent.CurrentTransition,
          Data: sent.CurrentTransition["Data"] ?? null,
          Header: toHeaderMap(sent.CurrentTransition["Header"]),
        }
      : null,
    TaskResponse: objectOf(sent.TaskResponse),
    OutputResponse: objectOf(sent.OutputResponse),
    MetaData: metaData,
    Definitions: objectOf(sent.Definitions),
    Runtime: sent.Runtime ?? null,
    Incident: sent.Incident ?? null,
    Related: relatedInstances(sent.Related as RelatedData | null | undefined),
    Mutations: mutations,
  };

  const methods = {
    SetBody(body: unknown): void {
      mergeIntoBody(body);
    },
    SetStandardResponse(response: StandardTaskResponse, key?: string | null): void {
      const value = mergeIntoBody(camelCased(response));
      if (value === null || isBlank(key)) return;
      setOwn(own.TaskResponse, String(key), value);
      written.tasks.push(String(key));
    },
    SetOutputResponse(data: unknown, key?: string | null): void {
      if (isBlank(key)) return;
      setOwn(own.OutputResponse, String(key), toJson(data));
      written.outputs.push(String(key));
    },
  };
  for (const [name, value] of Object.entries(methods)) {
    Object.defineProperty(own, name, { value });
  }
  if (call.members !== undefined) refuseUnsent(own, call.members);

  const changes = (): Changes => {
    const metaDataChanges = changedEntries(metaDataBefore, metaData);
    return {
      ...(written.body ? { body: own.Body } : {}),
      ...(written.tasks.length > 0
        ? { taskResponse: picked(own.TaskResponse, written.tasks) }
        : {}),
      ...(written.outputs.length > 0
        ? { outputResponse: picked(own.OutputResponse, written.outputs) }
        : {}),
      ...(metaDataChanges === undefined ? {} : { metaData: metaDataChanges }),
      ...(mutations.HasStageChange ? { stage: mutations.Stage } : {}),
    };
  };
  return { context: own as unknown as ScriptContext, changes };
}

function refuseUnsent(context: object, members: readonly ContextMember[]): void {
  for (const name of contextMembers) {
    if (members.includes(name)) continue;
    Object.defineProperty(context, name, {
      get() {
        throw new InvalidOperationException(
          `context.${name} was not sent: the script's text does not show that it is used. Name it as context.${name}, or pass the context whole.`,
        );
      },
    });
  }
}

const objectOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

const workflowInfo = (value: unknown): unknown =>
  isObject(value)
    ? {
        FlowVersion: value["Version"],
        Type: null,
        States: [],
        StateKeys: [],
        Scripts: null,
        ...value,
      }
    : null;

/** First letters lowered: the names that task answers have in `Body`. */
function camelCased(response: unknown): unknown {
  if (!isObject(response)) return response;
  const renamed: Record<string, unknown> = {};
  for (const name of Object.keys(response)) {
    setOwn(renamed, name.charAt(0).toLowerCase() + name.slice(1), response[name]);
  }
  return renamed;
}

const textByName = (object: Record<string, unknown>): Map<string, string | undefined> =>
  new Map(Object.keys(object).map((name) => [name, JSON.stringify(object[name])]));

function changedEntries(
  before: ReadonlyMap<string, string | undefined>,
  now: Record<string, unknown>,
): Record<string, unknown> | undefined {
  const changed: Record<string, unknown> = {};
  for (const name of Object.keys(now)) {
    const value = toJson(now[name]);
    if (before.get(name) !== JSON.stringify(value)) setOwn(changed, name, value);
  }
  for (const name of before.keys()) {
    if (!Object.hasOwn(now, name)) setOwn(changed, name, null);
  }
  return Object.keys(changed).length === 0 ? undefined : changed;
}

function picked(
  object: Record<string, unknown>,
  names: readonly string[],
): Record<string, unknown> {
  const some: Record<string, unknown> = {};
  for (const name of names) setOwn(some, name, object[name]);
  return some;
}
