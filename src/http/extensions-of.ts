import type { FastifyRequest } from "fastify";
import { stringifyJson } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import { listedIn } from "../functions/instance-call.ts";
import { nothingAdded, type OnFailed } from "../runtime/run-extensions.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { askerOf } from "./asker.ts";
import type { Query } from "./query-string.ts";

/** JSON text of what extensions add for this caller; a definition has none. */
export async function extensionsOf(
  { instances }: Runtime,
  request: FastifyRequest,
  instance: Instance | undefined,
  onFailed?: OnFailed,
): Promise<string> {
  if (instance === undefined) return "{}";
  const names = listedIn(request.query as Query, "extensions");
  const added = await instances.extensions(instance, names, askerOf(request), onFailed);
  return added === nothingAdded ? "{}" : stringifyJson(added);
}
