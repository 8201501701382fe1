/** Turns one file of a package into the bodies that are published (pure). */
import { isJsonObject, parseJson, type JsonObject, type JsonValue } from "../engine/exact-json.ts";
import { componentVersion, type PackageIdentity } from "./component-version.ts";
import { replaceDomain } from "./replace-domain.ts";

export interface Preparation {
  from: PackageIdentity;
  /** Undefined: components keep their domains. */
  domain: string | undefined;
}

/** No definition is so deep, and no runtime would take one that is. */
const deepestFile = 512;

/** One component per file, or an array of them. Throws `JsonError` when the text is no JSON. */
export function prepareFile(text: string, preparation: Preparation): JsonValue[] {
  const content = parseJson(text.replace(/^\uFEFF/, ""), deepestFile);
  const components = Array.isArray(content) ? content : [content];
  return components.map((component) => prepareComponent(component, preparation));
}

/** What does not say which component it is goes as it is: the runtime tells what is wrong with it. */
function prepareComponent(component: JsonValue, { from, domain }: Preparation): JsonValue {
  if (!isJsonObject(component)) return component;
  const { key, version } = component;
  if (typeof key !== "string" || typeof version !== "string") return component;
  const moved = domain === undefined ? component : replaceDomain(component, domain);
  return {
    ...moved,
    version: componentVersion(version, from),
    // Real packages leave it out, and the runtime requires it.
    flowVersion: moved["flowVersion"] ?? version,
    ...(Array.isArray(moved["data"])
      ? { data: moved["data"].map((seed) => withVersion(seed, from)) }
      : {}),
  };
}

const withVersion = (seed: JsonValue, from: PackageIdentity): JsonValue =>
  isJsonObject(seed) ? { ...seed, version: componentVersion(textOf(seed), from) } : seed;

const textOf = ({ version }: JsonObject): string | undefined =>
  typeof version === "string" ? version : undefined;
