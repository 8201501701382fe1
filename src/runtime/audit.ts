/**
 * Checks that a database keeps the promises the service makes about its instances:
 *
 * - no instance is Busy without a run that will end, a subflow that will, or a state that parks it
 * - the subflow that an instance waits for is there or will be started, has not ended unnoticed, and
 *   shows its state through everyone who waits
 * - records are numbered without gaps, each begins where the one before it ended, and only a run or
 *   a fault leaves one open
 * - Faulted means an open incident, and an open incident means Faulted or a run that deals with it;
 *   flag and count agree
 * - a resting instance has exactly the timers of its state, and none of a state it has left
 * - no job outlives its instance
 *
 * It only reads, and may look while the service works.
 */
import type { State, Workflow } from "../engine/definition/model.ts";
import { Problem } from "../engine/problem.ts";
import { parks } from "../engine/transition/run.ts";
import type {
  AuditedInstance,
  AuditedRecord,
  AuditQueries,
} from "../storage/postgres/audit-queries.ts";
import type { Catalogue } from "./catalogue.ts";
import { loadWorkflow } from "./load-program.ts";

export interface Finding {
  instanceId: string;
  /** `domain/flow`; empty when the instance is not there. */
  flow: string;
  message: string;
}

export interface AuditPorts {
  queries: AuditQueries;
  catalogue: Catalogue;
}

export interface AuditOptions {
  pageSize?: number;
  /** Told after each page how many instances have been looked at. */
  onPage?: (audited: number) => void;
}

const mostStrayJobs = 1000;

export async function* audit(
  ports: AuditPorts,
  { pageSize = 500, onPage = () => {} }: AuditOptions = {},
): AsyncGenerator<Finding, void, void> {
  for (const job of await ports.queries.strayJobs(mostStrayJobs)) {
    const message = `The job ${job.name} (${job.id}) is there, its instance is not.`;
    yield { instanceId: job.instance_id, flow: "", message };
  }
  let after: string | undefined;
  let audited = 0;
  for (;;) {
    const page = await ports.queries.instances(after, pageSize);
    for (const instance of page) {
      for (const message of await findingsOf(ports, instance)) {
        yield { instanceId: instance.id, flow: `${instance.domain}/${instance.flow}`, message };
      }
    }
    audited += page.length;
    onPage(audited);
    if (page.length < pageSize) return;
    after = page.at(-1)!.id;
  }
}

async function findingsOf(ports: AuditPorts, instance: AuditedInstance): Promise<string[]> {
  const findings = [
    ...incidentFindings(instance),
    ...countFindings(instance),
    ...childFindings(instance),
  ];
  const workflow = await workflowOf(ports, instance);
  if (workflow === undefined) {
    const { flow, flow_version: version } = instance;
    return [...findings, `Its workflow ${flow} ${version} is not published.`];
  }
  const state = workflow.states.get(instance.current_state);
  if (state === undefined) {
    return [...findings, `Its workflow has no state '${instance.current_state}'.`];
  }
  findings.push(...busyFindings(instance, state), ...timerFindings(instance, state));
  if (instance.is_chain_doubtful || lacksTimeout(instance, workflow)) {
    const records = await ports.queries.records(instance.id);
    findings.push(...chainFindings(instance, workflow, records));
    findings.push(...timeoutFindings(instance, workflow, records));
  }
  return findings;
}

async function workflowOf(
  { catalogue }: AuditPorts,
  { domain, flow: workflow, flow_version: version }: AuditedInstance,
): Promise<Workflow | undefined> {
  try {
    return await loadWorkflow(catalogue, { domain, workflow, version });
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

function* incidentFindings(instance: AuditedInstance): Iterable<string> {
  const { status, incidents, open_incidents: open } = instance;
  if (status === "F" && open === 0) yield "It is Faulted without an open incident.";
  const isDealtWith = status === "B" && instance.runs > 0;
  if (status !== "F" && open > 0 && !isDealtWith)
    yield `It is ${status} with ${open} open incident(s).`;
  if (instance.has_active_incident !== open > 0) {
    yield `Its flag hasActiveIncident is ${instance.has_active_incident}, its open incidents are ${open}.`;
  }
  if (instance.incident_count !== incidents) {
    yield `Its incident count is ${instance.incident_count}, its incidents are ${incidents}.`;
  }
}

function* countFindings(instance: AuditedInstance): Iterable<string> {
  const { status, records, last_seq: last, highest_seq: highest, runs, timers } = instance;
  if (records !== last || highest !== last) {
    yield `Its last record is number ${last}, but it has ${records} records up to number ${highest}.`;
  }
  if (instance.open_records > 0 && runs === 0 && status !== "F") {
    yield `It is ${status} with ${instance.open_records} open record(s) and no run that would close them.`;
  }
  if (status === "C" && runs + timers.length > 0) {
    yield `It is Completed and has ${runs} queued transition(s) and ${timers.length} timer(s).`;
  }
}

function* busyFindings(instance: AuditedInstance, state: State): Iterable<string> {
  const { status, runs, pauses, open_child: child } = instance;
  if (status === "B" && runs === 0 && pauses === 0 && child === null && !parks(state)) {
    yield `It is Busy in the state '${state.key}', which parks nobody, and no run owns it.`;
  }
}

function* childFindings(instance: AuditedInstance): Iterable<string> {
  const { status, runs, open_child: child, awaited } = instance;
  for (const other of awaited.filter((it) => it !== child)) {
    yield `The subflow ${other} counts as waited for, but it does not wait for it.`;
  }
  if (child === null) {
    const { current_state: current, effective_state: effective } = instance;
    if (effective !== current)
      yield `It shows the state '${effective}', but it is in '${current}'.`;
    return;
  }
  if (!awaited.includes(child))
    yield `It waits for the subflow ${child}, which has no open correlation.`;
  if (status === "C") yield `It is Completed and waits for the subflow ${child}.`;
  yield* lostChild(instance, child);
  const { child_effective_state: shown, effective_state: effective } = instance;
  if (shown !== null && shown !== effective && runs === 0) {
    yield `It shows the state '${effective}', but its subflow ${child} shows '${shown}'.`;
  }
}

/** A faulted one may wait for what is not there: its retry deals with that. */
function* lostChild(
  { status, runs, ...instance }: AuditedInstance,
  child: string,
): Iterable<string> {
  if (status === "F" || runs > 0) return;
  const { child_effective_state: shown, child_outcome: outcome } = instance;
  if (shown === null && !instance.child_is_starting) {
    yield `It waits for the subflow ${child}, which is not there, and nobody is going to start it.`;
  }
  if (outcome !== null) {
    yield `It waits for the subflow ${child}, which is ${outcome}, and no run takes note of it.`;
  }
}

/** At rest, so that its timers are set. A seed record has never run: nothing was set for it. */
const isResting = ({ status, runs, pauses, last_seq }: AuditedInstance) =>
  last_seq > 0 && pauses === 0 && (status === "A" || (status === "B" && runs === 0));

function* timerFindings(instance: AuditedInstance, state: State): Iterable<string> {
  const set = instance.timers.filter((timer) => timer.kind === "sx");
  for (const timer of set) {
    if (timer.state === state.key) continue;
    yield `The timer '${timer.transition}' of the state '${timer.state}' is set, but that state was left.`;
  }
  if (!isResting(instance)) return;
  for (const { key, triggerType, timer } of state.transitions) {
    if (triggerType !== "scheduled" || timer === undefined) continue;
    const count = set.filter((it) => it.state === state.key && it.transition === key).length;
    if (count !== 1) yield `The timer '${key}' of its state '${state.key}' is set ${count} times.`;
  }
}

const timeoutsOf = ({ timers }: AuditedInstance) => timers.filter(({ kind }) => kind === "to");

const lacksTimeout = (instance: AuditedInstance, { timeout }: Workflow) =>
  timeout !== undefined && isResting(instance) && timeoutsOf(instance).length !== 1;

/** Set once, at the start; fired at most once. */
function* timeoutFindings(
  instance: AuditedInstance,
  workflow: Workflow,
  records: readonly AuditedRecord[],
): Iterable<string> {
  if (!lacksTimeout(instance, workflow)) return;
  const { key } = workflow.timeout!;
  const hasFired = records.some((record) => record.transition_key === key);
  const count = timeoutsOf(instance).length;
  if (count > 1 || !hasFired) yield `The timeout '${key}' of its workflow is set ${count} times.`;
}

/**
 * Updates of the data run beside others and change no state, so they are no link of the chain. A
 * record without a state it led to failed, or was cut short: what follows it may begin anywhere.
 */
function* chainFindings(
  instance: AuditedInstance,
  { updateData }: Workflow,
  records: readonly AuditedRecord[],
): Iterable<string> {
  const links = records.filter((record) => record.transition_key !== updateData?.key);
  for (const [i, { seq, from_state: from }] of links.entries()) {
    const before = links[i - 1];
    if (before === undefined || before.to_state === null || before.to_state === from) continue;
    yield `Record ${seq} begins in '${from}', but record ${before.seq} ended in '${before.to_state}'.`;
  }
  const last = links.at(-1);
  if (last === undefined || last.to_state === null || last.to_state === instance.current_state) {
    return;
  }
  yield `Record ${last.seq} ended in '${last.to_state}', but it is in '${instance.current_state}'.`;
}
