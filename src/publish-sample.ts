/** Publishes the sample domain, so that a newcomer has something to call right after the start. */
import { fileURLToPath } from "node:url";
import { readComponentFiles, readPackageConfig } from "./deploy/package-folder.ts";
import { Problem } from "./engine/problem.ts";
import { problems } from "./engine/problems.ts";
import type { Log } from "./log.ts";
import { anyChannel, readChannelBindings } from "./notifications/channel-bindings.ts";
import type { Runtime } from "./runtime/runtime.ts";

export interface Sample {
  domain: string;
  /** The workflow to try first. */
  workflow: string;
}

const folder = fileURLToPath(new URL("../examples/loans/", import.meta.url));
const firstWorkflow = "loan-application";

export async function publishSample(runtime: Runtime, log: Log): Promise<Sample> {
  const config = await readPackageConfig(folder);
  const author = { actor: "millrace", behalfOf: undefined };
  const publish = async (component: unknown): Promise<number> => {
    try {
      await runtime.publish(component, { requireFlowVersion: true, author });
      return 1;
    } catch (error) {
      // Every start but the first finds the sample there.
      if (isAlreadyPublished(error)) return 0;
      throw error;
    }
  };
  const files = await readComponentFiles(folder, config);
  // Side by side: one after the other they would wait for the disk one after the other.
  const counts = await Promise.all(files.flatMap(({ components }) => components.map(publish)));
  const published = counts.reduce((sum, count) => sum + count, 0);
  log.info({ domain: config.domain, published }, "SamplePublished");
  return { domain: config.domain, workflow: firstWorkflow };
}

const isAlreadyPublished = (error: unknown) =>
  error instanceof Problem && error.code === problems.versionAlreadyPublished.row.code;

/** The channels that the sample writes to go to the log, as long as nobody says otherwise. */
export function bindSampleChannels(configured: readonly string[]): readonly string[] {
  const bound = readChannelBindings(configured).map(({ channel }) => channel);
  const isBound = bound.includes("email") || bound.includes(anyChannel);
  return isBound ? configured : [...configured, "email=log"];
}
