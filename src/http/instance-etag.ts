import type { Instance } from "../engine/instance.ts";
import { etagOf } from "./etag.ts";

/**
 * Every write raises the rev, and every write changes something a reader sees, so the rev names the
 * representation; a pinned data version is named by its own row.
 */
export const instanceEtag = ({ id, rev, entityEtag }: Instance): string =>
  etagOf(id, rev, entityEtag);
