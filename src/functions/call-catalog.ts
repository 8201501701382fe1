/** The functions that the workflow declares, in its order, as far as the caller may call them. */
import { ComponentKind } from "../engine/component-kind.ts";
import { normaliseFunction } from "../engine/definition/normalise-function.ts";
import type { FunctionScope } from "../engine/definition/enumerations.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { answerWith, type FunctionAnswer } from "./function-answer.ts";
import { gatesOfFunction } from "./function-gate.ts";
import { domainFunctionHref, functionHref } from "./hrefs.ts";
import type { InstanceCall } from "./instance-call.ts";
import { levelOf } from "./levels.ts";
import { askedOnce } from "./transition-gates.ts";

export const scopeLetters: Readonly<Record<FunctionScope, string>> = {
  domain: "D",
  flow: "F",
  instance: "I",
};

export async function callCatalog(
  ports: FunctionPorts,
  { polled, asker }: InstanceCall,
): Promise<FunctionAnswer> {
  const { workflow } = await levelOf(ports, polled);
  const place = { domain: polled.domain, instance: polled, workflow };
  const roles = askedOnce(ports);
  const functions: object[] = [];
  for (const { domain, key, version } of workflow.functions) {
    const address = { domain, kind: ComponentKind.function, key };
    const found = await ports.catalogue.find(address, version);
    if (found === undefined) continue;
    const definition = await ports.catalogue.compiled(found, normaliseFunction);
    const gates = await gatesOfFunction(
      roles,
      { definition, isDeclared: true },
      place,
      asker.viewer,
    );
    if (!gates.roles.allowed) continue;
    const isLatest = ports.catalogue.resolve(address)?.version === found.version;
    const href =
      definition.scope === "domain"
        ? `${domainFunctionHref(domain, key)}/info${isLatest ? "" : `?version=${encodeURIComponent(found.version)}`}`
        : `${functionHref(polled, key)}/info`;
    functions.push({
      name: key,
      version: found.version,
      scope: scopeLetters[definition.scope],
      href,
    });
  }
  return answerWith({ functions });
}
