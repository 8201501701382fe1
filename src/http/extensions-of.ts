import type { FastifyRequest } from "fastify";
import { stringifyJson } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import { listed } from "../functions/instance-call.ts";
import type { OnFailed } from "../runtime/run-extensions.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { askerOf } from "./asker.ts";

/** JSON text of what extensions add for this caller; a definition has none. */
export async function extensionsOf(
  { instances }: Runtime,
  request: FastifyRequest,
  instance: Instance | undefined,
  onFailed?: OnFailed,
): Promise<string> {
  if (instance === undefined) return "{}";
  const asker = askerOf(request);
  const names = listed(asker, "extensions");
  return stringifyJson(await instances.extensions(instance, names, asker, onFailed));
}
