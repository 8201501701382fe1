import type { Transition } from "../engine/definition/model.ts";
import { toPlain, type JsonValue } from "../engine/exact-json.ts";
import { PayloadRejected } from "../engine/payload-rejected.ts";
import type { Catalogue } from "./catalogue.ts";
import { loadSchema } from "./load-program.ts";

/**
 * The payload as it was sent against the transition's schema, before any mapping and before anything
 * is stored. A transition may have several schemas with rules; one without a rule always applies.
 */
export async function checkPayload(
  { catalogue }: { catalogue: Catalogue },
  transition: Transition,
  attributes: JsonValue | undefined,
): Promise<void> {
  const entry = transition.schema.find(({ rule }) => rule === undefined);
  if (entry === undefined) return;
  const schema = await loadSchema(catalogue, entry.reference);
  const errors = schema.validate(toPlain(attributes ?? {}));
  if (errors.length > 0) throw new PayloadRejected(transition.key, errors);
}
