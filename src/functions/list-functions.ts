/** Every version of every function of a domain, with its definition as authored. */
import type { Component } from "../engine/component.ts";
import { ComponentKind } from "../engine/component-kind.ts";
import { compareVersions } from "../engine/version.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { answerJson, type FunctionAnswer } from "./function-answer.ts";

export async function listFunctions(
  { catalogue }: FunctionPorts,
  domain: string,
): Promise<FunctionAnswer> {
  // Somebody may have published on another node a moment ago.
  await catalogue.catchUp();
  const versions = catalogue
    .latest(domain, ComponentKind.function)
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .flatMap((latest) =>
      catalogue.versions(latest).toSorted((a, b) => compareVersions(a.version, b.version)),
    );
  const components = await Promise.all(versions.map((version) => catalogue.load(version)));
  return answerJson(`[${components.map(itemJson).join(",")}]`);
}

/** Also in the form of stored rows, which clients of the public system read. */
function itemJson(component: Component): string {
  const { key, domain, version, flowVersion, tags, kind: flow, id, entityEtag } = component;
  const { attributesText } = component;
  const head = JSON.stringify({ key, domain, flow, version, flowVersion, tags });
  const instance = JSON.stringify({ id, key, flow, flowVersion, status: "A", tags });
  const row = JSON.stringify({ id: entityEtag, version, eTag: entityEtag });
  return `${head.slice(0, -1)},"attributes":${attributesText},"instance":${instance},"instanceData":${row.slice(0, -1)},"data":${attributesText}}}`;
}
