/** The state function, read for whoever waits for it to change. */
import type { FastifyRequest } from "fastify";
import { isComponentKind } from "../engine/component-kind.ts";
import { problems } from "../engine/problems.ts";
import { stringifyJson } from "../engine/exact-json.ts";
import { instanceEtag } from "../runtime/instance-etag.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { viewerOf } from "./viewer.ts";

export interface ShownState {
  instanceId: string;
  rev: number;
  /** The children that it shows and that may still change. */
  children: readonly string[];
  isEnded: boolean;
  json: string;
  eTag: string;
  entityEtag: string;
}

export async function showState(
  runtime: Runtime,
  address: { domain: string; flow: string; reference: string },
  request: FastifyRequest,
): Promise<ShownState> {
  const { instances } = runtime;
  const instance = await instances.find(address);
  if (instance === undefined) {
    const { domain, flow: workflow, reference } = address;
    if (!isComponentKind(workflow)) await runtime.refuseUnknownWorkflow(domain, workflow);
    throw problems.instanceNotFound({ domain, workflow, instance: reference });
  }
  const viewer = viewerOf(request);
  await instances.refuseQuery(instance, viewer);
  const sight = await instances.sightOf(instance, viewer);
  const eTag = instanceEtag(instance, sight);
  const { id: instanceId, rev, status, entityEtag } = instance;
  return {
    instanceId,
    rev,
    children: [],
    isEnded: status === "C" || status === "P",
    json: stringifyJson({ state: instance.effective.key, status, eTag, entityEtag }),
    eTag,
    entityEtag,
  };
}
