import { Command, Option } from "commander";
import { secretValues, type LoadedConfig } from "../config.ts";
import { StartRefusal } from "../engine/start-refusal.ts";
import type { Log } from "../log.ts";
import type { Millrace, Role } from "../millrace.ts";
import { readConfig, withConfigFlags, type CommonFlags } from "./options.ts";

interface StartFlags extends CommonFlags {
  embedded?: boolean;
  role?: Role[];
}

/** `millrace start`: runs the service until it is told to stop. */
export const startCommand = (): Command =>
  withConfigFlags(new Command("start"))
    .description("run the service")
    .option("--embedded", "use the embedded database even with NODE_ENV=production")
    .addOption(
      new Option("--role <role...>", "what this node does; default: everything").choices([
        "api",
        "worker",
        "deploy",
      ]),
    )
    .action(start);

async function start(flags: StartFlags): Promise<void> {
  const loaded = readConfig(flags);
  refuseEmbeddedInProduction(loaded, flags);
  const { config } = loaded;
  // Not before: a refusal comes at once, without loading the whole service.
  const [{ createLog }, { startMillrace }, { faultPointFrom }] = await Promise.all([
    import("../log.ts"),
    import("../millrace.ts"),
    import("../runtime/fault-point.ts"),
  ]);
  const log = createLog({
    level: config["Log.Level"],
    pretty:
      config["Log.Format"] === "pretty" ||
      (config["Log.Format"] === "auto" && process.stdout.isTTY),
    secrets: secretValues(config),
  });
  process.on("uncaughtException", (error) => {
    log.fatal({ err: error }, "UncaughtException");
    process.exit(1);
  });

  const stopping = new AbortController();
  const starting = startMillrace({
    config,
    log,
    signal: stopping.signal,
    faultPoint: faultPointFrom(process.env["MILLRACE_FAULT_POINT"], () =>
      process.kill(process.pid, "SIGKILL"),
    ),
    ...(flags.role === undefined ? {} : { roles: flags.role }),
    ...(flags.embedded === true ? { embedded: true } : {}),
  });
  stopOnSignal(log, async () => {
    stopping.abort();
    // A start that fails is told below.
    const millrace = await starting.catch(() => undefined);
    await millrace?.stop();
  });

  try {
    const millrace = await starting;
    if (!stopping.signal.aborted) console.log(greeting(millrace));
  } catch (error) {
    if (!(stopping.signal.aborted && (error as Error).name === "AbortError")) throw error;
  }
}

/**
 * One Ctrl-C may arrive twice: from the terminal, and passed on by npm, which got it as well. A
 * person's second one comes later.
 */
const sameKeystrokeMs = 300;

function stopOnSignal(log: Log, stop: () => Promise<void>): void {
  let isStopping = false;
  let mayBeForced = false;
  const end = (signal: NodeJS.Signals) => {
    if (!isStopping) {
      isStopping = true;
      // On a busy machine the second of one keystroke may be looked at late. It still comes before
      // the immediate, which runs after all that had arrived.
      setTimeout(() => setImmediate(() => (mayBeForced = true)), sameKeystrokeMs).unref();
      log.info({ signal }, "Stopping");
      stop().then(
        () => log.info("Stopped"),
        (err: unknown) => {
          log.error({ err }, "StopFailed");
          process.exitCode = 1;
        },
      );
    } else if (signal === "SIGINT" && mayBeForced) {
      // The database is tied to this process and ends with it.
      console.error("millrace: forced to stop");
      process.exit(130);
    }
  };
  process.on("SIGINT", end);
  process.on("SIGTERM", end);
  whenNpmIsGone(() => end("SIGTERM"));
}

/**
 * npm passes a SIGTERM on to the shell between it and us, and that shell dies without telling us:
 * we would run on with nobody knowing. Our parent changes then.
 */
function whenNpmIsGone(tell: () => void): void {
  if (process.env["npm_lifecycle_event"] === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    tell();
  }, 500);
  timer.unref();
}

function refuseEmbeddedInProduction({ config }: LoadedConfig, flags: StartFlags): void {
  if (process.env["NODE_ENV"] !== "production") return;
  if (config["Database.Url"] !== "" || flags.embedded === true) return;
  throw new StartRefusal(
    "NODE_ENV is production and DATABASE_URL is empty. Set DATABASE_URL to a PostgreSQL 15 or newer, or add --embedded to run on the embedded database on purpose.",
  );
}

function greeting({ runtimeUrl, deployUrl, operationsUrl, sample }: Millrace): string {
  const lines = ["", "Millrace is running."];
  if (runtimeUrl !== undefined) {
    lines.push(`  Runtime API     ${runtimeUrl}   (reference: ${runtimeUrl}/docs)`);
  }
  if (deployUrl !== undefined) lines.push(`  Deployment API  ${deployUrl}`);
  if (operationsUrl !== undefined) lines.push(`  Health checks   ${operationsUrl}/health`);
  if (runtimeUrl !== undefined) {
    const path =
      sample === undefined
        ? "/health"
        : `/api/v1/${sample.domain}/workflows/sys-flows/instances/${sample.workflow}`;
    lines.push("", "Try:", `  curl -s ${runtimeUrl}${path}`);
  }
  return `${lines.join("\n")}\n`;
}
