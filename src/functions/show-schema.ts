/** A schema as a client gets it: without the properties that the caller may not see. */
import type { Component } from "../engine/component.ts";
import { ComponentKind } from "../engine/component-kind.ts";
import type { Reference } from "../engine/definition/reference.ts";
import { parseJson, stringifyJson, type JsonObject, type JsonValue } from "../engine/exact-json.ts";
import { compileFieldAccess, type FieldAccess } from "../engine/field-access.ts";
import type { Instance } from "../engine/instance.ts";
import { roleCaller, type Viewer } from "../runtime/check-roles.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { resolveReference } from "../runtime/load-program.ts";

export async function showSchema(
  ports: FunctionPorts,
  reference: Reference,
  instance: Instance | undefined,
  viewer: Viewer,
): Promise<string> {
  const { catalogue } = ports;
  const found = await resolveReference(catalogue, reference, ComponentKind.schema);
  const { type, schema, access } = await catalogue.compiled(found, readSchema);
  const { roles, author, request } = viewer;
  const caller =
    access === undefined || instance === undefined
      ? { roles, author, request, instance: undefined }
      : await roleCaller(ports, access.grants, instance, viewer);
  return stringifyJson({
    key: found.key,
    ...(type === undefined ? {} : { type }),
    schema: access === undefined ? schema : access.visibleSchema(caller),
  });
}

interface ReadableSchema {
  readonly type: JsonValue | undefined;
  readonly schema: JsonValue;
  readonly access: FieldAccess | undefined;
}

function readSchema({ attributesText }: Component): ReadableSchema {
  // Read anew: numbers come back as they were sent.
  const { type, schema = {} } = parseJson(attributesText) as JsonObject;
  return { type, schema, access: compileFieldAccess(schema) };
}
