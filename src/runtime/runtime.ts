/** Everything a surface may ask of the runtime, wired to its ports once per process. */
import type { Component } from "../engine/component.ts";
import type { DefinitionChecker } from "../engine/definition/check-component.ts";
import type { InstanceQuery } from "../engine/instance-query/instance-query.ts";
import type { Ids } from "../ids.ts";
import { changesChannel, createChangeFeed } from "../storage/postgres/announce-changes.ts";
import { createComponentStore } from "../storage/postgres/postgres-component-store.ts";
import { asUnavailable, type Database } from "../storage/postgres/database.ts";
import { createInstanceLists } from "../storage/postgres/list-instances.ts";
import { listen } from "../storage/postgres/listen.ts";
import type { ScriptHost } from "../scripting/script-host.ts";
import type { TaskHost } from "../tasks/task-host.ts";
import { createAnswerCache } from "./answer-cache.ts";
import { createCatalogue, type Catalogue } from "./catalogue.ts";
import { createInstanceChanges, type InstanceChanges } from "./changes.ts";
import type { Viewer } from "./check-roles.ts";
import type { ExecutePorts } from "./execution.ts";
import type { FaultPoint } from "./fault-point.ts";
import type { FunctionPorts } from "./function-ports.ts";
import type { Instances } from "./instances.ts";
import { listInstances, type ListOutcome } from "./list-instances.ts";
import { loadProgram } from "./load-program.ts";
import { createLocalFlows } from "./local-flows.ts";
import { openInstances, type OutsidePorts } from "./open-instances.ts";
import { openScripts, type ScriptOptions } from "./open-scripts.ts";
import { findDefinition, type WantedDefinition } from "./read-component.ts";
import {
  publishComponent,
  validateComponent,
  type Published,
  type Validated,
  type PublishOptions,
  type PublishPorts,
} from "./publish-component.ts";

export interface RuntimeOptions {
  database: Database;
  ids: Ids;
  checker: DefinitionChecker;
  /** The one domain this runtime serves; empty = all. */
  domain: string;
  /** Trouble of background work that heals by itself. */
  onTrouble: (event: string, error: unknown) => void;
  /** What those who run the service should know. */
  onEvent: (event: string, fields: Record<string, unknown>) => void;
  /** A task's failure that an error boundary dealt with. */
  onHandled: ExecutePorts["onHandled"];
  /** What a failed task without any error boundary means for its run. */
  unhandledFailure: ExecutePorts["unhandledFailure"];
  jobTimeoutSeconds: number;
  jobLeaseSeconds: number;
  /** Whether this node takes up work that others left or that becomes due. */
  claimsJobs: boolean;
  enforceRoles: boolean;
  enforceQueryRoles: boolean;
  enforceFunctionRoles: boolean;
  startOnExistingKey: "conflict" | "returnExisting";
  /** How often readers who wait are compared with the database, should a notification be lost. */
  lookForChangesMs: number;
  /** For users who bring their own, and for tests. */
  tasks?: TaskHost | undefined;
  taskPorts: OutsidePorts;
  scripts?: ScriptHost | undefined;
  scripting: ScriptOptions;
  faultPoint?: FaultPoint | undefined;
}

export interface Runtime {
  readonly domain: string;
  readonly catalogue: Catalogue;
  readonly database: Database;
  readonly instances: Instances;
  readonly functionPorts: FunctionPorts;
  /** Wakes those who wait for an instance to change. */
  readonly changes: InstanceChanges;
  publish(body: unknown, options: PublishOptions): Promise<Published>;
  /** What a publish would say; nothing is stored. */
  validate(body: unknown, options: Pick<PublishOptions, "requireFlowVersion">): Promise<Validated>;
  findDefinition(wanted: WantedDefinition): Promise<Component | undefined>;
  /** Throws when no version of the workflow is published: then no instance can be there either. */
  refuseUnknownWorkflow(domain: string, workflow: string): Promise<void>;
  listInstances(
    wanted: { domain: string; workflow: string },
    query: InstanceQuery,
    viewer: Viewer,
  ): Promise<ListOutcome>;
  /** Reads all definitions anew, here and on the other nodes. */
  reinitialize(): Promise<void>;
  /** This node, as jobs name it. */
  readonly nodeId: string;
  /** How many jobs it is doing now. */
  readonly jobsRunning: number;
  /** From now on no queued work is begun; what runs goes on. */
  drain(): void;
  /** Lets queued work that runs end within the grace, puts the rest back, lets go of the database. */
  close(graceMs: number): Promise<void>;
}

const reloadMessage = "reload";

export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { database, onTrouble, domain } = options;
  const components = createComponentStore(database, options.ids);
  const catalogue = createCatalogue(components);
  await catalogue.reload();
  const scripts = options.scripts ?? openScripts(catalogue, options.scripting);
  const lists = createInstanceLists(database);
  const reads = {
    async refuseUnknownWorkflow(workflowDomain: string, workflow: string) {
      await loadProgram(catalogue, { domain: workflowDomain, workflow, version: undefined });
    },
    findDefinition: (wanted: WantedDefinition) => findDefinition({ catalogue, components }, wanted),
  };
  const listIn =
    ({ sightOf }: Instances): Runtime["listInstances"] =>
    (wanted, query, viewer) =>
      listInstances({ catalogue, lists, sightOf }, wanted, query, viewer);
  const changes = createInstanceChanges({
    feed: createChangeFeed(database),
    nodeId: options.ids.uuid(),
    lookMs: options.lookForChangesMs,
    dice: Math.random,
    now: () => performance.now(),
    onTrouble,
  });
  const {
    instances,
    ports,
    jobs,
    nodeId,
    close: closeInstances,
  } = await openInstances({
    ...options,
    catalogue,
    changes,
    scripts,
    localFlows: (opened) =>
      createLocalFlows({ ...reads, instances: opened, listInstances: listIn(opened) }),
  });

  const catchUp = () => {
    catalogue.catchUp().catch((error: unknown) => onTrouble("CatalogueCatchUpFailed", error));
  };
  const listener = listen({
    url: database.url,
    channels: ["millrace_catalogue", changesChannel],
    onNotification: (channel, payload) => {
      if (channel === changesChannel) return changes.heard(payload);
      if (payload !== reloadMessage) return catchUp();
      catalogue.reload().catch((error: unknown) => onTrouble("CatalogueReloadFailed", error));
    },
    // Whatever was said while nobody listened is lost: look.
    onReconnect: () => {
      catchUp();
      changes.connected();
    },
    onError: (error) => onTrouble("ListenerLost", asUnavailable(error)),
  });
  const stopPolling = catalogue.poll((error) => onTrouble("CataloguePollFailed", error));
  const { checker } = options;
  const publishPorts: PublishPorts = { components, catalogue, checker, scripts, domain };

  return {
    domain,
    catalogue,
    database,
    instances,
    functionPorts: {
      ...ports,
      instances,
      cache: createAnswerCache(options.taskPorts.stateStores),
      enforceFunctionRoles: options.enforceFunctionRoles,
      enforceQueryRoles: options.enforceQueryRoles,
      refuseUnknownWorkflow: reads.refuseUnknownWorkflow,
      onTrouble,
    },
    changes,
    publish: (body, publishOptions) => publishComponent(publishPorts, body, publishOptions),
    validate: (body, publishOptions) => validateComponent(publishPorts, body, publishOptions),
    ...reads,
    listInstances: listIn(instances),
    async reinitialize() {
      await catalogue.reload();
      await components.announce(reloadMessage);
    },
    nodeId,
    get jobsRunning() {
      return jobs.running;
    },
    drain: () => jobs.drain(),
    async close(graceMs) {
      await closeInstances(graceMs);
      changes.close();
      await scripts.close();
      stopPolling();
      await listener.close();
    },
  };
}
