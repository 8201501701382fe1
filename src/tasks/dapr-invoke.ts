/**
 * Task types 1 and 3: a call through the sidecar, of an HTTP endpoint by its resource's name or of
 * another application by its id. Dapr has one API for both.
 */
import type { JsonValue } from "../engine/exact-json.ts";
import { daprPath } from "../outgoing/dapr-sidecar.ts";
import { configuredHeaders } from "./call-headers.ts";
import { callSidecar, daprName, pathBelow, textOf } from "./dapr-call.ts";
import type { TaskAnswer, TaskCall, TaskPorts, MappedTaskType } from "./task-type.ts";

export const daprHttpEndpointTask: MappedTaskType = {
  code: "1",
  name: "DaprHttpEndpoint",
  stamp: "daprhttpendpoint",
  isEffectful: () => true,
  invoke(ports, call) {
    const name = "DaprHttpEndpoint";
    const endpoint = daprName(call, name, "endpointName");
    const { path: given } = call.config;
    const path = typeof given === "string" ? given.trim() : "";
    const method = verbOf(call.config["method"]);
    return invoke(ports, call, {
      name,
      app: endpoint,
      target: { member: "path", path },
      method,
      metadata: { EndpointName: endpoint, Path: path, Method: method },
    });
  },
};

export const daprServiceTask: MappedTaskType = {
  code: "3",
  name: "DaprService",
  stamp: "daprservice",
  isEffectful: () => true,
  invoke(ports, call) {
    const name = "DaprService";
    const app = daprName(call, name, "appId");
    const path = textOf(call, name, "methodName");
    const method = verbOf(call.config["httpVerb"]);
    return invoke(ports, call, {
      name,
      app,
      target: { member: "methodName", path },
      method,
      metadata: { AppId: app, MethodName: path, HttpVerb: method },
    });
  },
};

interface Invocation {
  name: string;
  app: string;
  /** May bring a query of its own. */
  target: { member: string; path: string };
  method: string;
  metadata: Record<string, JsonValue>;
}

function invoke(
  ports: TaskPorts,
  call: TaskCall,
  { name, app, target, method, metadata }: Invocation,
): Promise<TaskAnswer> {
  const { config } = call;
  const [path = "", ...query] = target.path.split("?");
  const below = pathBelow(call, name, target.member, path).replaceAll("#", "%23");
  return callSidecar(ports, call, {
    name,
    method,
    path: `${daprPath("v1.0", "invoke", app, "method")}/${below}${queryOf(query.join("?"), config["queryString"])}`,
    headers: configuredHeaders(config["headers"]),
    body: config["body"] as JsonValue | undefined,
    metadata,
  });
}

const verbOf = (verb: unknown): string =>
  typeof verb === "string" && verb.trim() !== "" ? verb.trim().toUpperCase() : "GET";

function queryOf(...queries: unknown[]): string {
  const given = queries.flatMap((query) =>
    typeof query === "string" ? [query.trim().replace(/^[?&]+/, "")] : [],
  );
  const query = given.filter((part) => part !== "").join("&");
  return query === "" ? "" : `?${query.replaceAll("#", "%23")}`;
}
