/** The attributes of a schema (`sys-schemas`): a JSON Schema that compiles. */
import { checkJsonSchema } from "../json-schema.ts";
import { dialectOf } from "../json-schema/dialect.ts";
import { schemaNodes } from "../json-schema/nodes.ts";
import { checkFieldAccess } from "./check-field-access.ts";
import { at, type Report } from "./findings.ts";
import { asObject, asText, isPresent, type JsonObject } from "./json.ts";

export function checkSchema(report: Report, path: string, attributes: JsonObject): void {
  if (!isPresent(attributes["type"])) {
    report.warning(
      at(path, "type"),
      "'type' is missing; say what the schema is for, such as workflow or master.",
    );
  }
  const schema = asObject(attributes["schema"]);
  if (schema === undefined) return;
  const place = at(path, "schema");
  const { mistakes, warnings } = checkJsonSchema(schema);
  for (const finding of mistakes) {
    const where = at(place, ...finding.path);
    // The seed schemas of the system flows describe components; the engine never compiles them.
    if (report.lenient) report.warning(where, finding.message);
    else report.mistake(where, finding.message);
  }
  for (const finding of warnings) report.warning(at(place, ...finding.path), finding.message);
  // A schema beyond the limits is refused already.
  if (mistakes.length === 0) checkVocabulary(report, place, schema, asText(attributes["type"]));
}

/** The keywords of the public vocabularies that the runtime reads. */
function checkVocabulary(
  report: Report,
  path: string,
  schema: JsonObject,
  type: string | undefined,
): void {
  for (const node of schemaNodes(schema, dialectOf(schema["$schema"]).dialect).nodes) {
    checkFieldAccess(report, at(path, ...node.path), node.schema);
    if (node.schema["x-indexed"] === true && type !== "master") {
      report.warning(
        at(path, ...node.path, "x-indexed"),
        "'x-indexed' has an effect in schemas of type master only.",
      );
    }
  }
}
