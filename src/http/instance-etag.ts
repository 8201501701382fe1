import type { Instance } from "../engine/instance.ts";
import { etagOf } from "./etag.ts";

/**
 * Everything a reader sees of an instance that can change. The data are named by their own tag; the
 * row's rev is not used, because it also rises with writes that nobody can see.
 */
export const instanceEtag = (instance: Instance): string => {
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
    ...instance.tags,
  );
};
