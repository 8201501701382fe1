/**
 * May this caller do that? Answers for one transition, one function, reading the instance, or
 * acknowledging its state; a gateway asks it before it lets a request through. With `explain=true` it tells rule by rule why.
 *
 * A transition is answered where it would run: at the level that keeps it, else in the deepest
 * subflow.
 */
import { Problem } from "../engine/problem.ts";
import { problems } from "../engine/problems.ts";
import type { Explanation } from "../engine/role-gate.ts";
import { admit, isForwarded } from "../engine/transition/admit.ts";
import type { Asker } from "../runtime/asker.ts";
import { longPollAt } from "../runtime/overrides.ts";
import { admitsPoll } from "../runtime/poll-gate.ts";
import { explainQueryOf } from "../runtime/query-gate.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { builtInNeedsQueryRoles } from "./built-in-names.ts";
import { answerJson, type FunctionAnswer } from "./function-answer.ts";
import { findFunction, gatesOfFunction } from "./function-gate.ts";
import { isSet, parameter, type InstanceCall } from "./instance-call.ts";
import { deepest, keeperOf, levelOf, loadLevels } from "./levels.ts";
import { askedOnce, gatesOf } from "./transition-gates.ts";

interface Check {
  readonly check: "available" | "scope" | "roles" | "availableIn" | "queryRoles" | "longPoll";
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
  const asked = [
    ...(transitionKey === undefined ? [] : [() => checkTransition(ports, call, transitionKey)]),
    ...(functionKey === undefined ? [] : [() => checkFunction(ports, call, functionKey)]),
    ...(isSet(asker, "queryroles") ? [() => checkQuery(ports, call)] : []),
    ...(isSet(asker, "ack") ? [() => checkAck(ports, call)] : []),
  ];
  const [first] = asked;
  if (first === undefined || asked.length > 1) {
    throw problems.authorizeTarget({ given: asked.length });
  }
  const { target, checks } = await first();
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

/** Where nothing waits to be acknowledged, nothing is refused. */
async function checkAck(ports: FunctionPorts, { polled, asker }: InstanceCall): Promise<Checked> {
  const shown = deepest(await loadLevels(ports, polled));
  const { instance, workflow, overrides } = shown;
  const target = { ack: true, instance: instance.id, state: instance.current.key };
  const longPoll = longPollAt(workflow, overrides, instance.current.key);
  if (longPoll?.terminate !== true) {
    return { target, checks: [{ check: "longPoll", allowed: true, reason: "nothingWaits" }] };
  }
  const allowed = await admitsPoll(ports, shown, longPoll, asker);
  const reason = `${longPoll.rule === undefined ? "roles" : "rule"}${allowed ? "Allow" : "Refuse"}`;
  return { target, checks: [{ check: "longPoll", allowed, reason }] };
}

const versionOf = (asker: Asker) => parameter(asker, "version")?.replaceAll(" ", "+");

const callerOf = ({ viewer: { roles, author } }: Asker) => ({
  roles,
  ...(author.actor === undefined ? {} : { actor: author.actor }),
  ...(author.behalfOf === undefined ? {} : { behalfOf: author.behalfOf }),
});
