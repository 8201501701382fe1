import { Type } from "./schema.ts";
import { stateSubType, stateType } from "../engine/definition/enumerations.ts";
import { InstanceStatus } from "../engine/instance.ts";

const text = Type.Optional(Type.String());
const moment = Type.String({ format: "date-time" });
const Link = Type.Object({ href: Type.String() });

/** How `runtime/instance-output.ts` stands in the API document. */
export const GetInstanceOutput = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    key: text,
    flow: Type.String(),
    domain: Type.String(),
    flowVersion: Type.String(),
    eTag: Type.Optional(Type.String({ description: "absent in lists" })),
    entityEtag: Type.String(),
    tags: Type.Array(Type.String()),
    metadata: Type.Object({
      currentState: Type.String(),
      effectiveState: Type.String({ description: "as seen from outside, in subflows too" }),
      status: Type.Enum(Object.values(InstanceStatus)),
      effectiveStateType: Type.Enum([...stateType.words]),
      effectiveStateSubType: Type.Enum([...stateSubType.words]),
      currentStateType: Type.Enum([...stateType.words]),
      currentStateSubType: Type.Enum([...stateSubType.words]),
      stage: text,
      completedAt: Type.Optional(moment),
      duration: Type.Optional(Type.Number({ description: "seconds from creation to completion" })),
      createdAt: moment,
      modifiedAt: Type.Optional(moment),
      createdBy: text,
      createdByBehalfOf: text,
      modifiedBy: text,
      modifiedByBehalfOf: text,
      incident: Type.Object({
        hasActiveIncident: Type.Boolean(),
        totalCount: Type.Optional(Type.Integer()),
        active: Type.Optional(Link),
        history: Link,
      }),
    }),
    attributes: Type.Optional(Type.Unknown()),
    extensions: Type.Optional(Type.Object({}, { additionalProperties: true })),
  },
  { $id: "GetInstanceOutput" },
);
