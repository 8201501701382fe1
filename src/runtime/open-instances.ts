/** Wires instances, the work queued for them, and this node's life to the database. */
import { ComponentKind } from "../engine/component-kind.ts";
import type { Reference } from "../engine/definition/reference.ts";
import type { Ids } from "../ids.ts";
import { asUnavailable, openDatabase, type Database } from "../storage/postgres/database.ts";
import { createIncidentStore } from "../storage/postgres/postgres-incident-store.ts";
import { createInstanceStore } from "../storage/postgres/postgres-instance-store.ts";
import { createJobStore } from "../storage/postgres/postgres-job-store.ts";
import { createTaskJournal } from "../storage/postgres/postgres-task-journal.ts";
import type { ScriptHost } from "../scripting/script-host.ts";
import type { Flows, RemoteFlows } from "../tasks/flow-port.ts";
import { createTasks } from "../tasks/registry.ts";
import type { TaskHost } from "../tasks/task-host.ts";
import type { TaskPorts } from "../tasks/task-type.ts";
import type { Catalogue } from "./catalogue.ts";
import { tellingChanges, type InstanceChanges } from "./changes.ts";
import type { ExecutePorts } from "./execution.ts";
import { noFaultPoints, type FaultPoint } from "./fault-point.ts";
import type { FunctionPorts } from "./function-ports.ts";
import { createContention } from "./contention.ts";
import { createInFlight } from "./in-flight.ts";
import { createInstances, type Instances } from "./instances.ts";
import { createJobRunner, type JobRunner } from "./job-runner.ts";
import { resolveReference } from "./load-program.ts";
import { withResultsInHand } from "./results-in-hand.ts";
import { routeFlows } from "./route-flows.ts";
import { runJob, type RunJobPorts } from "./run-job.ts";
import { sendStateNotifications, type Rest } from "./send-state-notifications.ts";
import { tellingIncidents } from "./telling-incidents.ts";

export interface InstanceOptions {
  database: Database;
  catalogue: Catalogue;
  changes: InstanceChanges;
  ids: Ids;
  /** How long one job may take, and how long it stays its node's. */
  jobTimeoutSeconds: number;
  jobLeaseSeconds: number;
  /** Whether this node takes up work that others left or that becomes due. */
  claimsJobs: boolean;
  enforceRoles: boolean;
  enforceQueryRoles: boolean;
  startOnExistingKey: "conflict" | "returnExisting";
  onTrouble: (event: string, error: unknown) => void;
  onEvent: (event: string, fields: Record<string, unknown>) => void;
  onHandled: ExecutePorts["onHandled"];
  unhandledFailure: ExecutePorts["unhandledFailure"];
  faultPoint?: FaultPoint | undefined;
  scripts: ScriptHost;
  tasks?: TaskHost | undefined;
  taskPorts: OutsidePorts;
  /** The one domain this runtime serves; empty = all. */
  domain: string;
  /** The flows served here, made of the instances that are opened here. */
  localFlows: (instances: Instances) => Flows;
}

/** What tasks reach the outside world with. */
export type OutsidePorts = Omit<
  TaskPorts,
  "scripts" | "loadTask" | "runTask" | "isEffectful" | "flows"
> & {
  /** The runtimes of other domains. */
  readonly remoteFlows: RemoteFlows;
};

export interface OpenInstances {
  instances: Instances;
  /** What functions share with them. */
  ports: Pick<FunctionPorts, "catalogue" | "store" | "journal" | "scripts" | "tasks" | "uuid">;
  jobs: JobRunner;
  /** This node, as jobs name it. */
  nodeId: string;
  /** Lets queued work that runs end within the grace, and leaves the rest to other nodes. */
  close(graceMs: number): Promise<void>;
}

const lanes = { lanes: 4, patienceMs: 20 };

/** Well below the time after which a node that does not say so counts as dead. */
const heartbeatTimeoutMs = 2000;

export async function openInstances(options: InstanceOptions): Promise<OpenInstances> {
  const { database, catalogue, ids, onTrouble, onEvent } = options;
  const nodeId = ids.uuid();
  const tools = { now: () => new Date(), uuid: ids.uuid, ulid: ids.ulid };
  const faultPoint = options.faultPoint ?? noFaultPoints;
  const { jobLeaseSeconds: leaseSeconds } = options;
  const heartbeat = openDatabase({
    url: database.url,
    poolSize: 1,
    statementTimeoutMs: heartbeatTimeoutMs,
    applicationName: "millrace-heartbeat",
    onError: (error) => onTrouble("HeartbeatConnectionLost", asUnavailable(error)),
  });
  const { scripts } = options;
  const loadTask = async (reference: Reference) =>
    catalogue.load(await resolveReference(catalogue, reference, ComponentKind.task));
  let local: Flows | undefined;
  const flows = routeFlows({
    served: options.domain,
    local: () => (local ??= options.localFlows(instances)),
    remote: options.taskPorts.remoteFlows,
  });
  const jobStore = createJobStore({ queries: database, heartbeat, leaseSeconds });
  const ports: ExecutePorts = {
    catalogue,
    store: tellingIncidents(
      tellingChanges(createInstanceStore(database, { lanes, leaseSeconds }), options.changes),
      onEvent,
    ),
    incidents: createIncidentStore(database),
    journal: withResultsInHand(createTaskJournal(database)),
    scripts,
    tasks: options.tasks ?? createTasks({ ...options.taskPorts, scripts, loadTask, flows }),
    tools,
    dice: Math.random,
    unhandledFailure: options.unhandledFailure,
    onHandled: options.onHandled,
    nodeId,
    faultPoint,
    onTrouble,
    noticed: (added) => jobs.noticed(added),
    // Trouble with the database is waited out; nobody waits for the outcome.
    doBeside: (following) => void jobs.follow(following).catch(() => {}),
    held: { hold: (id) => jobs.held.hold(id), letGo: (id) => jobs.held.letGo(id) },
  };
  const budgetMs = options.jobTimeoutSeconds * 1000;
  const { notifications, invocationTimeoutMs } = options.taskPorts;
  const notify = (rest: Rest) =>
    sendStateNotifications({ scripts, notifications, invocationTimeoutMs, onTrouble }, rest);
  const jobPorts: RunJobPorts = { ...ports, jobStore, budgetMs, notify };
  const jobs = createJobRunner({
    store: jobStore,
    tools,
    nodeId,
    faultPoint,
    onTrouble,
    onEvent,
    claims: options.claimsJobs,
    run: (job, known, stopping) => runJob(jobPorts, job, known, stopping),
  });
  await jobs.start().catch(async (error: unknown) => {
    await heartbeat.close();
    throw error;
  });
  const { enforceRoles, enforceQueryRoles, startOnExistingKey } = options;
  const inFlight = createInFlight();
  const contention = createContention();
  const instances = createInstances({
    ...ports,
    inFlight,
    contention,
    jobs,
    jobStore,
    enforceRoles,
    enforceQueryRoles,
    startOnExistingKey,
  });
  return {
    instances,
    ports: { ...ports, uuid: ids.uuid },
    jobs,
    nodeId,
    async close(graceMs) {
      await jobs.stop(graceMs);
      await heartbeat.close();
    },
  };
}
