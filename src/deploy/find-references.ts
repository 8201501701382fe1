/** What a component refers to: every `{ key, flow, domain?, version? }` inside it (pure). */
import { isComponentKind } from "../engine/component-kind.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../engine/exact-json.ts";

export interface FoundReference {
  /** Where it stands: `attributes.states[0].transitions[1].schema`. */
  path: string;
  domain: string;
  flow: string;
  key: string;
  version: string;
}

export function findReferences(component: JsonObject): FoundReference[] {
  const own = typeof component["domain"] === "string" ? component["domain"] : "";
  const found: FoundReference[] = [];
  const look = (value: JsonValue | undefined, path: string): void => {
    if (Array.isArray(value)) {
      for (const [i, item] of value.entries()) look(item, `${path}[${i}]`);
    } else if (value !== undefined && isJsonObject(value)) {
      const reference = referenceAt(value, path, own);
      if (reference !== undefined) found.push(reference);
      for (const [name, member] of Object.entries(value)) look(member, `${path}.${name}`);
    }
  };
  look(component["attributes"], "attributes");
  return found;
}

/** A component's kind in `flow` makes it a reference: nothing else has both members. */
function referenceAt(value: JsonObject, path: string, own: string): FoundReference | undefined {
  const { key, flow, domain, version } = value;
  if (typeof key !== "string" || typeof flow !== "string" || !isComponentKind(flow)) {
    return undefined;
  }
  return {
    path,
    key,
    flow,
    domain: typeof domain === "string" ? domain : own,
    version: typeof version === "string" ? version : "latest",
  };
}
