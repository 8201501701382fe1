/** A reference to another component, in its full form. */
import type { ComponentKind } from "../component-kind.ts";
import { asObject, asText } from "./json.ts";

export interface Reference {
  readonly key: string;
  readonly domain: string;
  readonly flow: string;
  readonly version: string;
}

const versionReference =
  /^(?:latest|\d+|\d+\.\d+|\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)$/i;

/** The four forms a reference's version has: exact, `1.2`, `1` and `latest`. */
export const isVersionReference = (version: string): boolean =>
  version.length <= 180 && versionReference.test(version);

/** Reads a checked reference; what it leaves out gets its default. */
export function readReference(
  value: unknown,
  owner: { readonly domain: string },
  kind: ComponentKind,
): Reference | undefined {
  const reference = asObject(value);
  if (reference === undefined) return undefined;
  const key =
    asText(reference["key"]) ?? asText(reference["id"]) ?? keyOfFile(asText(reference["ref"]));
  if (key === undefined) return undefined;
  return {
    key,
    domain: asText(reference["domain"]) ?? owner.domain,
    flow: asText(reference["flow"]) ?? kind,
    version: asText(reference["version"]) ?? "latest",
  };
}

export function readReferences(
  value: unknown,
  owner: { readonly domain: string },
  kind: ComponentKind,
): readonly Reference[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item) => readReference(item, owner, kind) ?? []);
}

/** The system flows' short form `Tasks/invalidate-cache.json` names the component by its file. */
const keyOfFile = (ref: string | undefined): string | undefined =>
  ref
    ?.split("/")
    .at(-1)
    ?.replace(/\.json$/, "");
