/**
 * May this caller do that? Answers for one transition, one function, or reading the instance; a
 * gateway asks it before it lets a request through. With `explain=true` it tells rule by rule why.
 *
 * A transition is answered where it would run: at the level that keeps it, else in the deepest
 * subflow.
 */
import { Problem } from "../engine/problem.ts";
import { problems } from "../engine/problems.ts";
import type { Explanation } from "../engine/role-gate.ts";
import { admit, isForwarded } from "../engine/transition/admit.ts";
import type { Asker } from "../runtime/asker.ts";
import { explainQueryOf } from "../runtime/query-gate.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { builtInNeedsQueryRoles } from "./built-in-names.ts";
import { answerJson, type FunctionAnswer } from "./function-answer.ts";
import { findFunction, gatesOfFunction } from "./function-gate.ts";
import { isSet, parameter, type InstanceCall } from "./instance-call.ts";
import { deepest, keeperOf, levelOf, loadLevels } from "./levels.ts";
import { askedOnce, gatesOf } from "./transition-gates.ts";

interface Check {
  readonly check: "available" | "scope" | "roles" | "availableIn" | "queryRoles";
  readonly allowed: boolean;
  readonly reason: string;
  readonly rules?: Explanation["rules"];
  /** Of a transition that cannot be sent now. */
  readonly code?: string;
}

export async function callAuthorize(
  ports: FunctionPorts,
  call: InstanceCall,
): Promise<FunctionAnswer> {
  const { asker } = call;
  const transitionKey = parameter(asker, "transitionkey");
  const functionKey = parameter(asker, "functionkey");
  const asksQuery = isSet(asker, "queryroles");
  const given = [transitionKey !== undefined, functionKey !== undefined, asksQuery];
  const count = given.filter(Boolean).length;
  if (count !== 1) throw problems.authorizeTarget({ given: count });
  const { target, checks } =
    transitionKey === undefined
      ? functionKey === undefined
        ? await checkQuery(ports, call)
        : await checkFunction(ports, call, functionKey)
      : await checkTransition(ports, call, transitionKey);
  const allowed = checks.every((check) => check.allowed);
  const statusCode = allowed ? 200 : 403;
  const explained = isSet(asker, "explain")
    ? { allowed, target, caller: callerOf(asker), checks }
    : { allowed };
  return answerJson(JSON.stringify(explained), { statusCode });
}

interface Checked {
  readonly target: object;
  readonly checks: readonly Check[];
}

async function checkTransition(
  ports: FunctionPorts,
  { polled, asker }: InstanceCall,
  key: string,
): Promise<Checked> {
  const levels = await loadLevels(ports, polled);
  const level = keeperOf(levels, key);
  const { instance, workflow } = level;
  const target = { transition: key, instance: instance.id, state: instance.current.key };
  // A subflow that is not there yet, or not any more, takes nothing.
  const isForNobody = instance.openChild !== undefined && isForwarded(workflow, instance, key);
  const admitted = isForNobody
    ? problems.instanceBusy({ instance: instance.id })
    : admit(workflow, instance, key, "user");
  if (admitted instanceof Problem) {
    const { message, errorCode } = admitted;
    return {
      target,
      checks: [{ check: "available", allowed: false, reason: message, code: errorCode }],
    };
  }
  const gates = await gatesOf(askedOnce(ports), level, admitted.transition, asker.viewer);
  return {
    target,
    checks: [
      { check: "available", allowed: true, reason: "offered" },
      ...gates.map(({ gate, ...explanation }) => ({ check: gate, ...explanation })),
    ],
  };
}

async function checkFunction(
  ports: FunctionPorts,
  call: InstanceCall,
  key: string,
): Promise<Checked> {
  const { polled, asker } = call;
  const needs = builtInNeedsQueryRoles(key);
  if (needs === true) return checkQuery(ports, call, { function: key.toLowerCase() });
  const target = { function: key, instance: polled.id };
  if (needs === false) {
    return { target, checks: [{ check: "scope", allowed: true, reason: "openToAll" }] };
  }
  const { workflow } = await levelOf(ports, polled);
  const place = { domain: polled.domain, instance: polled, workflow };
  const found = await findFunction(ports, place, key, versionOf(asker));
  const { scopeRefusal, roles } = await gatesOfFunction(ports, found, place, asker.viewer);
  return {
    target,
    checks: [
      { check: "scope", allowed: scopeRefusal === undefined, reason: scopeRefusal ?? "inScope" },
      { check: "roles", ...roles },
    ],
  };
}

async function checkQuery(
  ports: FunctionPorts,
  { polled, asker }: InstanceCall,
  target: object = { queryRoles: true },
): Promise<Checked> {
  const levels = await loadLevels(ports, polled);
  const checks: Check[] = [];
  for (const { instance } of levels) {
    const { gate, ...explanation } = await explainQueryOf(ports, instance, asker.viewer);
    checks.push({ check: gate, ...explanation });
  }
  const { instance } = deepest(levels);
  return { target: { ...target, instance: instance.id, state: instance.current.key }, checks };
}

const versionOf = (asker: Asker) => parameter(asker, "version")?.replaceAll(" ", "+");

const callerOf = ({ viewer: { roles, author } }: Asker) => ({
  roles,
  ...(author.actor === undefined ? {} : { actor: author.actor }),
  ...(author.behalfOf === undefined ? {} : { behalfOf: author.behalfOf }),
});
