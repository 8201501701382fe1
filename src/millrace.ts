/**
 * Starts everything in one process: the library's entry, and what `millrace start` runs.
 *
 * The ports are opened first, so that a port in use is told in milliseconds and probes see a live
 * process that is not ready yet; then the database, the migrations, the definitions, the sample.
 */
import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Config } from "./config.ts";
import { createDeployServer } from "./deploy/http.ts";
import { openDeploy, type Deploy } from "./deploy/open-deploy.ts";
import { createDefinitionChecker } from "./engine/definition/check-component.ts";
import { StartRefusal } from "./engine/start-refusal.ts";
import { StorageUnavailable } from "./engine/storage-unavailable.ts";
import type { HttpServer, ServerOptions } from "./http/create-server.ts";
import { listen, loopback } from "./http/listen.ts";
import { describeIdentity, identityMode, type IdentityMode } from "./http/identity-mode.ts";
import type { TokenOptions } from "./http/require-token.ts";
import { nodeChecks } from "./http/node-checks.ts";
import { createOperationsServer } from "./http/operations-server.ts";
import { createRuntimeServer } from "./http/runtime-server.ts";
import { createIds } from "./ids.ts";
import type { Log } from "./log.ts";
import { createTroubleLog, type TroubleLog } from "./log-trouble.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { bindSampleChannels, publishSample, type Sample } from "./publish-sample.ts";
import { startSamplePartners, type SamplePartners } from "./sample-partners.ts";
import { openNotifications } from "./notifications/open-notifications.ts";
import type { Notifications } from "./notifications/sender.ts";
import type { HttpClient } from "./outgoing/http-client.ts";
import { daprSidecar, type DaprSidecar } from "./outgoing/dapr-sidecar.ts";
import { openHttpClient } from "./outgoing/open-http-client.ts";
import { readKeySet } from "./outgoing/read-key-set.ts";
import type { FaultPoint } from "./runtime/fault-point.ts";
import { readComponentSchemas } from "./runtime/component-schemas.ts";
import type { ScriptOptions } from "./runtime/open-scripts.ts";
import type { OutsidePorts } from "./runtime/open-instances.ts";
import { openRuntime, type Runtime } from "./runtime/runtime.ts";
import type { ScriptHost } from "./scripting/script-host.ts";
import type { TaskHost } from "./tasks/task-host.ts";
import { serviceVersion } from "./service-version.ts";
import { superviseEmbedded, type SupervisedPostgres } from "./storage/embedded/supervise.ts";
import { asUnavailable, openDatabase, type Database } from "./storage/postgres/database.ts";
import { migrate } from "./storage/postgres/migrate.ts";
import { createPublishJobStore } from "./storage/postgres/postgres-publish-job-store.ts";
import { openStateStores } from "./storage/state-stores/open-state-stores.ts";
import { remoteFlows } from "./tasks/remote-flows.ts";

/** What a program that uses the library needs to fill in the options. */
export { loadConfig } from "./config.ts";
export { createLog } from "./log.ts";

export type Role = "api" | "worker" | "deploy";

export interface MillraceOptions {
  config: Config;
  log: Log;
  /** What this node does; everything unless given. */
  roles?: readonly Role[];
  /** Use the embedded database whatever the configuration says. */
  embedded?: boolean;
  /** Gives up a start that is still waiting, for the database say. */
  signal?: AbortSignal;
  /** For users who bring their own, and for tests. */
  tasks?: TaskHost;
  scripts?: ScriptHost;
  faultPoint?: FaultPoint;
}

export interface Millrace {
  runtimeUrl: string | undefined;
  deployUrl: string | undefined;
  /** Health and figures of a node that has no API. */
  operationsUrl: string | undefined;
  databaseUrl: string;
  /** The sample domain, when it was published. */
  sample: Sample | undefined;
  /** Takes no more requests, lets those in progress end, closes the database. May be called again. */
  stop(): Promise<void>;
}

export async function startMillrace(options: MillraceOptions): Promise<Millrace> {
  const { config, log } = options;
  const roles = new Set<Role>(options.roles ?? ["api", "worker", "deploy"]);
  const schemas = readComponentSchemas();
  const checker = createDefinitionChecker(schemas);
  let runtime: Runtime | undefined;
  const current = () => {
    if (runtime === undefined) throw new StorageUnavailable("The service is starting.");
    return runtime;
  };
  let deploy: Deploy | undefined;
  const currentDeploy = () => {
    if (deploy === undefined) throw new StorageUnavailable("The service is starting.");
    return deploy;
  };

  // A package on its way needs the runtime's server, so it is stopped before that.
  const stopDeploy = async () => deploy?.service.close();

  const servers: HttpServer[] = [];
  const undo: Step[] = [];
  let stopping: Promise<void> | undefined;
  // Requests and queued work share one grace: whoever sent the signal waits that long, not twice.
  let graceEnds = Infinity;
  const graceLeft = () => Math.max(0, graceEnds - performance.now());
  const beginStop = async () => {
    graceEnds = performance.now() + config["Server.ShutdownSeconds"] * 1000;
    runtime?.drain();
  };
  const closeServers = async () => {
    await Promise.all(servers.map((app) => closeServer(app, graceLeft())));
  };
  // Requests in progress still need the database, so the servers go first though they came first.
  const stop = () =>
    (stopping ??= inTurn([beginStop, stopDeploy, closeServers, ...undo.toReversed()]));

  try {
    refuseDeployWithoutRuntime(config, roles);
    const identity = identityMode(config);
    log.info({ mode: identity.mode, callers: describeIdentity(identity) }, "Identity");
    const tokens = await tokensFrom(identity, log, undo);
    const serverOptions = { ...serverOptionsFrom(config, log), ...callersFrom(identity, tokens) };
    const open = async (app: HttpServer, port: number, name: string) => {
      servers.push(app);
      return openServer(app, config["Server.Host"], port, name);
    };
    const runtimeUrl = roles.has("api")
      ? await open(
          createRuntimeServer({
            server: serverOptions,
            runtime: current,
            domain: config["Runtime.Domain"],
            requireFlowVersion: config["Publish.RequireFlowVersion"],
            schemas,
            live: {
              maxWaiters: config["Live.MaxWaiters"],
              heartbeatMs: config["Live.HeartbeatSeconds"] * 1000,
              longestMs: config["Live.StreamMinutes"] * 60_000,
            },
          }),
          config["Server.Port"],
          "runtime API (MILLRACE_PORT)",
        )
      : undefined;
    const deployUrl = roles.has("deploy")
      ? await open(
          createDeployServer({
            server: serverOptions,
            deploy: currentDeploy,
            defaults: {
              registry: config["Deploy.Registry"],
              runtimePackage: config["Deploy.RuntimePackage"],
            },
            checks: nodeChecks(current),
          }),
          config["Server.InitPort"],
          "deployment API (MILLRACE_INIT_PORT)",
        )
      : undefined;

    const operationsUrl =
      runtimeUrl === undefined && deployUrl === undefined
        ? await open(
            createOperationsServer({
              server: serverOptions,
              runtime: current,
              domain: config["Runtime.Domain"],
            }),
            config["Server.Port"],
            "health checks (MILLRACE_PORT)",
          )
        : undefined;

    const embedded = options.embedded === true || config["Database.Url"] === "";
    const databaseUrl = embedded ? await startEmbedded(config, log, undo) : config["Database.Url"];
    const whenAnswered = <T>(work: () => Promise<T>) => retryWhileAway(work, log, options.signal);
    const { applied, serverVersion } = await whenAnswered(() =>
      migrate(databaseUrl, options.signal),
    );
    log.info({ serverVersion, applied }, "DatabaseReady");
    const trouble = createTroubleLog(log);
    const database = openPool(databaseUrl, config, trouble);
    undo.push(() => database.close());
    // A deployment service apart has no use for it: the runtime it publishes to has its own.
    const isRuntime = roles.has("api") || roles.has("worker");
    const partners =
      isRuntime && wantsSample(config, embedded) ? await openPartners(undo) : undefined;
    const outside = openOutside({ config, log, trouble, database, embedded, undo });
    let incidentsOpened = 0;
    const opened = await whenAnswered(() =>
      openRuntime({
        database,
        checker,
        ids: createIds(),
        domain: config["Runtime.Domain"],
        onTrouble: (event, err) => {
          const eventId = eventIds[event];
          if (eventId === undefined) trouble(event, err);
          else log.error({ err, eventId, eventName: event }, event);
        },
        onEvent: (event, fields) => {
          if (event === "IncidentOpened") incidentsOpened += 1;
          log.warn(fields, event);
        },
        onHandled: ({ failure, decision }, { instance, hop }) =>
          log.warn(
            {
              instance: instance.id,
              workflow: instance.flow,
              transition: hop.transition.key,
              task: failure.task,
              code: failure.code,
              action: decision?.rule.action,
              level: decision?.level,
              reason: failure.message,
            },
            "TaskFailureHandled",
          ),
        unhandledFailure: config["TaskExecution.UnhandledFailure"],
        jobTimeoutSeconds: config["WorkflowExecution.TransitionJobTimeoutSeconds"],
        jobLeaseSeconds: config["WorkflowExecution.TransitionJobLockLeaseSeconds"],
        claimsJobs: roles.has("worker"),
        enforceRoles: config["Authorization.EnforceTransitionRoles"],
        enforceQueryRoles: config["Authorization.EnforceQueryRoles"],
        enforceFunctionRoles: config["Authorization.EnforceFunctionRoles"],
        startOnExistingKey: config["Instances.StartOnExistingKey"],
        lookForChangesMs: config["Live.PollSeconds"] * 1000,
        faultPoint: options.faultPoint,
        scripting: scriptingFrom(config, log, partners),
        tasks: options.tasks,
        taskPorts: outside,
        scripts: options.scripts,
      }),
    );
    undo.push(() => opened.close(graceLeft()));
    serverOptions.metrics.observeNode({
      jobsRunning: () => opened.jobsRunning,
      incidentsOpened: () => incidentsOpened,
      connections: () => database.connections,
    });
    // Before anything is answered: whoever waits for /health finds it there, all of it.
    const sample =
      partners === undefined ? undefined : await whenAnswered(() => publishSample(opened, log));
    runtime = opened;
    if (roles.has("deploy")) {
      deploy = openDeploy({
        config,
        log,
        http: outside.http,
        jobs: createPublishJobStore(database),
        runtimeUrl: config["Runtime.Url"] || callable(runtimeUrl ?? ""),
      });
    }
    const urls = { runtimeUrl, deployUrl, operationsUrl };
    const { nodeId: node } = opened;
    log.info({ version: serviceVersion(), node, roles: [...roles], ...urls }, "Started");
    return { ...urls, databaseUrl, sample, stop };
  } catch (error) {
    await stop().catch((err: unknown) => log.error({ err }, "StopFailed"));
    throw error;
  }
}

function refuseDeployWithoutRuntime(config: Config, roles: ReadonlySet<Role>): void {
  if (!roles.has("deploy") || roles.has("api") || config["Runtime.Url"] !== "") return;
  throw new StartRefusal(
    "A deployment service that runs apart from the runtime API has to know where that is. Set MILLRACE_RUNTIME_URL, such as http://localhost:4201, or add the role api.",
  );
}

/** A server that listens on every address is called on the loopback. */
const callable = (url: string): string =>
  url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");

function serverOptionsFrom(config: Config, log: Log): ServerOptions & { metrics: Metrics } {
  return {
    appVersion: serviceVersion(),
    log,
    metrics: createMetrics(),
    errorTypeBase: config["Http.ErrorTypeBase"],
    limits: {
      bodyBytes: config["Http.BodyLimitBytes"],
      jsonDepth: config["Http.JsonDepth"],
      headerBytes: config["Http.HeaderBytes"],
      headerCount: config["Http.HeaderCount"],
      requestTimeoutMs: config["Http.RequestTimeoutSeconds"] * 1000,
    },
    cors: { origins: config["Http.CorsOrigins"] },
    refusesForeignPages: config["Auth.Mode"] === "auto",
    publishRoles: config["Authorization.PublishRoles"],
    trustedPeers: config["Http.TrustedPeers"],
  };
}

function callersFrom(
  { mode }: IdentityMode,
  tokens: TokenOptions | undefined,
): Partial<ServerOptions> {
  if (tokens !== undefined) return { tokens };
  return mode === "none" ? { trustedPeers: [] } : {};
}

async function tokensFrom(
  identity: IdentityMode,
  log: Log,
  undo: Step[],
): Promise<TokenOptions | undefined> {
  if (identity.mode !== "jwt") return undefined;
  const { keys, rules, allowAnonymous, peersWithout } = identity;
  // Not before: without tokens nobody needs what checks them.
  const [{ createKeySet }, { createTokenCheck }] = await Promise.all([
    import("./http/key-set.ts"),
    import("./http/check-token.ts"),
  ]);
  const findKey = createKeySet({
    read: "url" in keys ? openKeySet(keys.url, undo) : () => readFile(keys.file, "utf8"),
    now: () => performance.now(),
    onTrouble: (event, err) => log.error({ err }, event),
  });
  return { check: createTokenCheck(rules, findKey), allowAnonymous, peersWithout };
}

function openKeySet(url: string, undo: Step[]): () => Promise<string> {
  const http = openHttpClient();
  undo.push(() => http.close());
  return () => readKeySet(http, url);
}

/** Events that the specification numbers. */
const eventIds: Readonly<Record<string, number>> = {
  SubFlowCorrelationRevertTargetMissing: 40_119,
};

/** What tasks reach the outside world with. */
function openOutside({
  config,
  log,
  trouble,
  database,
  embedded,
  undo,
}: {
  config: Config;
  log: Log;
  trouble: TroubleLog;
  database: Database;
  embedded: boolean;
  undo: Step[];
}): OutsidePorts {
  const allow = egressFrom(config, embedded);
  log.info({ allow }, "EgressBeyondPublicAddresses");
  const http = openHttpClient({ allow, maxBytes: config["Egress.AnswerLimitBytes"] });
  undo.push(() => http.close());
  const dapr = daprSidecar(http, {
    endpoint: config["Dapr.HttpEndpoint"],
    apiToken: config["Dapr.ApiToken"],
  });
  const invocationTimeoutMs = config["ExecutionApi.InvocationTimeoutSeconds"] * 1000;
  const stateStores = openStateStores({
    stores: config["StateStore.Stores"],
    defaultName: config["StateStore.Name"],
    database,
    dapr,
    timeoutMs: invocationTimeoutMs,
    onTrouble: trouble,
  });
  undo.push(() => stateStores.close());
  return {
    http,
    dapr,
    stateStores,
    notifications: notificationsFrom(config, log, embedded, http, dapr),
    remoteFlows: remoteFlows(http, addressesFrom(config["Domains.Addresses"])),
    invocationTimeoutMs,
  };
}

/** `payments=https://payments.internal:4201`, as the settings check it. */
const addressesFrom = (entries: readonly string[]): ReadonlyMap<string, string> =>
  new Map(
    entries.map((entry) => {
      const equals = entry.indexOf("=");
      return [entry.slice(0, equals).trim(), entry.slice(equals + 1).trim()];
    }),
  );

function notificationsFrom(
  config: Config,
  log: Log,
  embedded: boolean,
  http: HttpClient,
  dapr: DaprSidecar | undefined,
): Notifications {
  const channels = config["Notification.Channels"];
  return openNotifications({
    channels: wantsSample(config, embedded) ? bindSampleChannels(channels) : channels,
    smtp: {
      url: config["Notification.Smtp.Url"],
      from: config["Notification.Smtp.From"],
      tls: config["Notification.Smtp.Tls"],
    },
    webhookSecret: config["Notification.WebhookSecret"],
    dapr,
    http,
    log: (event, fields) => log.info(fields, event),
    onTrouble: (event, err) => log.error({ err }, event),
    now: () => new Date(),
  });
}

/** On the embedded server somebody tries things out, with services of this machine. */
function egressFrom(config: Config, embedded: boolean): readonly string[] {
  const allow = config["Egress.Allow"];
  return allow.length === 0 && embedded ? ["loopback"] : allow;
}

/** Scripts read settings by the public system's `:` paths, and of the environment what is allowed. */
function scriptingFrom(
  config: Config,
  log: Log,
  partners: SamplePartners | undefined,
): ScriptOptions {
  const allowed = config["Scripting.Environment"].flatMap((name): [string, string][] => {
    const value = process.env[name];
    return value === undefined ? [] : [[name.replaceAll("__", ":"), value]];
  });
  const ofSample = partners === undefined ? {} : { "Partners:Url": partners.url };
  return {
    config: { ...ofSample, ...Object.fromEntries(allowed) },
    secrets: secretsFrom(config["Scripting.Secrets"]),
    limits: {
      timeMs: config["Scripting.TimeoutMs"],
      memoryBytes: config["Scripting.MemoryMb"] * 1024 * 1024,
    },
    onLog: ({ level, origin, script, message }) => {
      log[pinoLevels[level]]({ ...origin, script, HasScript: true, message }, "ScriptLog");
    },
  };
}

/** `vault/payments/api-key=PAYMENTS_API_KEY`: the value itself is only ever in the environment. */
function secretsFrom(entries: readonly string[]): ScriptOptions["secrets"] {
  const stores: Record<string, Record<string, Record<string, string>>> = {};
  for (const entry of entries) {
    const [, store, secret, key, variable] =
      /^([^/=]+)\/([^/=]+)\/([^/=]+)=(\w+)$/.exec(entry) ?? [];
    if (
      store === undefined ||
      secret === undefined ||
      key === undefined ||
      variable === undefined
    ) {
      throw new StartRefusal(
        `Scripting.Secrets has '${entry}'; each entry is store/secret/key=ENVIRONMENT_VARIABLE.`,
      );
    }
    const value = process.env[variable];
    if (value === undefined) {
      throw new StartRefusal(
        `Scripting.Secrets names the environment variable ${variable}, which is not set.`,
      );
    }
    ((stores[store] ??= {})[secret] ??= {})[key] = value;
  }
  return stores;
}

const pinoLevels = {
  Trace: "trace",
  Debug: "debug",
  Information: "info",
  Warning: "warn",
  Error: "error",
  Critical: "fatal",
} as const;

async function openServer(
  app: HttpServer,
  host: string,
  port: number,
  name: string,
): Promise<string> {
  const hosts = host === "" ? loopback : [host];
  try {
    const bound = await listen(app, { hosts, port });
    const shown = host === "" ? "localhost" : host.includes(":") ? `[${host}]` : host;
    return `http://${shown}:${bound}`;
  } catch (cause) {
    switch ((cause as NodeJS.ErrnoException).code) {
      case "EADDRINUSE":
        throw new StartRefusal(
          `Port ${port} of the ${name} is in use, perhaps by another Millrace. Stop what listens there, or choose another port.`,
        );
      case "EACCES":
        throw new StartRefusal(
          `Port ${port} of the ${name} may not be opened by this user. Choose a port above 1023.`,
        );
      case "EADDRNOTAVAIL":
      case "ENOTFOUND":
        throw new StartRefusal(
          `'${host}' (MILLRACE_HOST) is not an address of this machine. Use one that is, or leave it empty for loopback.`,
        );
      default:
        throw cause;
    }
  }
}

type Step = () => Promise<void>;

/** Every step is taken, also after one that failed; the first failure is thrown at the end. */
async function inTurn(steps: readonly Step[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) await step().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

/** Fastify waits for requests in progress; those that take too long are cut. */
async function closeServer(app: HttpServer, graceMs: number): Promise<void> {
  const cut = setTimeout(() => app.cutConnections(), graceMs);
  try {
    await app.close();
  } finally {
    clearTimeout(cut);
  }
}

async function startEmbedded(config: Config, log: Log, undo: Step[]): Promise<string> {
  const server: SupervisedPostgres = await superviseEmbedded({
    dataDir: config["Runtime.DataDir"],
    log: (event, fields) => log.info(fields ?? {}, event),
    onTrouble: (event, err) => log.error({ err }, event),
  });
  undo.push(() => server.stop());
  return server.url;
}

const openPool = (url: string, config: Config, trouble: TroubleLog): Database =>
  openDatabase({
    url,
    poolSize: config["Database.PoolSize"],
    statementTimeoutMs: config["Database.StatementTimeoutMs"],
    onError: (error) => trouble("DatabaseConnectionLost", asUnavailable(error)),
  });

const longestWaitMs = 5000;

/**
 * A database that does not answer is waited for, as long as it takes; `/ready` says 503 meanwhile.
 * Rejects with an `AbortError` when the signal ends the wait.
 */
async function retryWhileAway<T>(
  work: () => Promise<T>,
  log: Log,
  signal: AbortSignal | undefined,
): Promise<T> {
  for (let waitMs = 100; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      log.warn({ reason: error.reason, retryInMs: waitMs }, "DatabaseDoesNotAnswer");
      await delay(waitMs, undefined, signal === undefined ? {} : { signal });
    }
  }
}

async function openPartners(undo: Step[]): Promise<SamplePartners> {
  const partners = await startSamplePartners();
  undo.push(() => partners.close());
  return partners;
}

/** A runtime that serves one domain refuses all others, the sample's too. */
function wantsSample(config: Config, embedded: boolean): boolean {
  const wanted = config["Runtime.Samples"];
  return wanted === "on" || (wanted === "auto" && embedded && config["Runtime.Domain"] === "");
}
