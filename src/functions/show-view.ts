/** A view as a client gets it. */
import { ComponentKind } from "../engine/component-kind.ts";
import { normaliseView, type View } from "../engine/definition/normalise-view.ts";
import type { ViewType } from "../engine/definition/enumerations.ts";
import type { Reference } from "../engine/definition/reference.ts";
import { stringifyJson } from "../engine/exact-json.ts";
import { pickLabel } from "../engine/pick-label.ts";
import type { Asker } from "../runtime/asker.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { resolveReference } from "../runtime/load-program.ts";
import { parameter } from "./instance-call.ts";

const typeNames: Readonly<Record<ViewType, string>> = {
  json: "Json",
  html: "Html",
  markdown: "Markdown",
  deepLink: "DeepLink",
  http: "Http",
  urn: "URN",
};

/** Of any domain that is published here. */
export async function showView(
  { catalogue }: FunctionPorts,
  reference: Reference,
  asker: Asker,
): Promise<string> {
  const found = await resolveReference(catalogue, reference, ComponentKind.view);
  return viewJson(await catalogue.compiled(found, normaliseView), asker);
}

function viewJson({ key, labels, renderer, face, platforms }: View, asker: Asker): string {
  const platform = parameter(asker, "platform")?.toLowerCase();
  const { type, content, display, modes } =
    (platform === undefined ? undefined : platforms.get(platform)) ?? face;
  return stringifyJson({
    key,
    content,
    type: typeNames[type],
    ...(display === undefined ? {} : { display }),
    label: pickLabel(labels, asker.language) ?? "",
    ...(renderer === undefined ? {} : { renderer }),
    ...(modes === undefined ? {} : { modes }),
  });
}
