/** Opens the deployment service as the configuration says. */
import type { Config } from "../config.ts";
import { createIds } from "../ids.ts";
import type { Log } from "../log.ts";
import type { HttpClient } from "../outgoing/http-client.ts";
import type { PublishJobStore } from "../storage/publish-job-store.ts";
import { systemClock, type DeployClock } from "./deploy-clock.ts";
import { openDeployService, type DeployService } from "./deploy-service.ts";
import { createRuntimeClient, type RuntimeClient } from "./runtime-client.ts";

export interface DeployOptions {
  config: Config;
  log: Log;
  http: HttpClient;
  jobs: PublishJobStore;
  /** Where components are published. */
  runtimeUrl: string;
  clock?: DeployClock;
}

export interface Deploy {
  service: DeployService;
  runtime: RuntimeClient;
}

const minuteMs = 60_000;

export function openDeploy(options: DeployOptions): Deploy {
  const { config, log, http, jobs, runtimeUrl, clock = systemClock } = options;
  const runtime = createRuntimeClient(http, runtimeUrl);
  const service = openDeployService(
    {
      http,
      runtime,
      jobs,
      clock,
      log,
      newId: createIds().uuid,
      limits: {
        archiveBytes: config["Deploy.ArchiveLimitBytes"],
        timeoutMs: config["Deploy.DownloadTimeoutSeconds"] * 1000,
        allowSha1: config["Deploy.AllowSha1"],
        archive: {
          entries: config["Deploy.MaxFiles"],
          unpackedBytes: config["Deploy.UnpackedLimitBytes"],
        },
        runtimeWaitMs: config["Deploy.RuntimeWaitSeconds"] * 1000,
        concurrency: config["Deploy.Concurrency"],
      },
    },
    {
      retentionMs: config["Deploy.RetentionMinutes"] * minuteMs,
      sweepMs: config["Deploy.SweepMinutes"] * minuteMs,
      queueLimit: config["Deploy.QueueLimit"],
    },
  );
  return { service, runtime };
}
