import type { Instance } from "../engine/instance.ts";
import { etagOf } from "./etag-of.ts";
import type { Sight } from "./sight.ts";

/**
 * Everything a reader sees of an instance that can change. The data are named by their own tag; the
 * row's rev is not used, because it also rises with writes that nobody can see. Two callers who see
 * different parts of the data have different tags.
 */
export const instanceEtag = (instance: Instance, sight: Sight): string => {
  const { current, effective, modifiedBy } = instance;
  return etagOf(
    instance.id,
    instance.key,
    instance.flowVersion,
    instance.entityEtag,
    instance.status,
    current.key,
    effective.key,
    effective.type,
    effective.subType,
    instance.stage,
    instance.modifiedAt?.getTime(),
    modifiedBy.actor,
    modifiedBy.behalfOf,
    instance.completedAt?.getTime(),
    instance.incidentCount,
    String(instance.hasActiveIncident),
    sight.tag,
    ...instance.tags,
  );
};
