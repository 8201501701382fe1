import { jsonText } from "../engine/json-text.ts";
import type { Viewer } from "./check-roles.ts";
import { instanceEtag } from "./instance-etag.ts";
import type { Outcome } from "./instances.ts";
import type { SightOf } from "./sight.ts";

/** StartInstanceOutput / TransitionOutput; `{ id, key, status }` for what was only accepted. */
export async function outcomeJson(
  { instance, accepted }: Outcome,
  sightOf: SightOf,
  viewer: Viewer,
  /** JSON text. */
  extensions = "{}",
): Promise<string> {
  const { id, key, status } = instance;
  if (accepted) return JSON.stringify({ id, key, status });
  const sight = await sightOf(instance, viewer);
  const head = JSON.stringify({
    id,
    key,
    status,
    eTag: instanceEtag(instance, sight),
    entityEtag: `"${instance.entityEtag}"`,
  });
  const data = sight.of(instance.data);
  const attributes = data === undefined ? "" : `,"attributes":${jsonText(data)}`;
  return `${head.slice(0, -1)},"extensions":${extensions}${attributes}}`;
}
