/**
 * Publishes the files of a package, group after group, a few of a group side by side. A file that
 * fails is told of and never stops the others.
 */
import { setTimeout as delay } from "node:timers/promises";
import {
  canonicalText,
  isJsonObject,
  JsonError,
  type JsonObject,
  type JsonValue,
} from "../engine/exact-json.ts";
import { OutgoingFailed } from "../outgoing/http-client.ts";
import type { PackageFile } from "./package-contents.ts";
import { prepareFile, type Preparation } from "./prepare-component.ts";
import { reasonOf, type Reason } from "./publish-reason.ts";
import type { RuntimeAnswer, RuntimeClient } from "./runtime-client.ts";
import { sideBySide } from "./side-by-side.ts";

export type FileOutcome =
  | { kind: "published" }
  /** Every component of it is there already, as it is. */
  | { kind: "unchanged" }
  | { kind: "failed"; reasons: readonly Reason[] };

export interface PublishFilesOptions {
  runtime: RuntimeClient;
  preparation: Preparation;
  groups: readonly (readonly PackageFile[])[];
  /** Files on their way at the same time. */
  concurrency: number;
  /** No further file is begun once it is aborted. */
  signal: AbortSignal;
  /** Not even what is on its way is waited for. */
  halt: AbortSignal;
  onBegin(path: string): void;
  onDone(path: string, outcome: FileOutcome): void;
}

export async function publishFiles(options: PublishFilesOptions): Promise<void> {
  const { groups, concurrency, signal } = options;
  for (const group of groups) {
    await sideBySide(group, concurrency, async (file) => {
      if (signal.aborted) return;
      options.onBegin(file.path);
      const outcome = await publishFile(file, options);
      // Of what was cut off nobody knows how it went.
      if (!options.halt.aborted) options.onDone(file.path, outcome);
    });
  }
}

async function publishFile(
  { text }: PackageFile,
  { runtime, preparation, signal, halt }: PublishFilesOptions,
): Promise<FileOutcome> {
  let components: JsonValue[];
  try {
    components = prepareFile(text, preparation);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { kind: "failed", reasons: [{ code: "NotJson", message: error.message }] };
  }
  const reasons: Reason[] = [];
  let published = components.length === 0;
  for (const component of components) {
    const outcome = await publishComponent(component, runtime, { signal, halt });
    if (outcome === "published") published = true;
    else if (outcome !== "unchanged") {
      const name = components.length === 1 ? undefined : nameOf(component);
      reasons.push(name === undefined ? outcome : { ...outcome, component: name });
    }
  }
  if (reasons.length > 0) return { kind: "failed", reasons };
  return { kind: published ? "published" : "unchanged" };
}

async function publishComponent(
  component: JsonValue,
  runtime: RuntimeClient,
  { signal, halt }: Pick<PublishFilesOptions, "signal" | "halt">,
): Promise<"published" | "unchanged" | Reason> {
  const { answer, attempts } = await insist(() => runtime.publish(component, halt), signal);
  if (answer === undefined) {
    return { code: "RuntimeUnreachable", message: "The runtime did not answer. Publish again." };
  }
  if (answer.status === 200 || answer.status === 201) return "published";
  if (answer.status === 409 && (await isPublished(component, runtime))) {
    // Our own first attempt may have got through though its answer was lost.
    return attempts > 1 ? "published" : "unchanged";
  }
  return reasonOf(answer);
}

const pausesMs = [250, 500, 1000, 2000];

/** A runtime that is away for a moment is asked again; `answer` is undefined when it stays away. */
async function insist(
  ask: () => Promise<RuntimeAnswer>,
  signal: AbortSignal,
): Promise<{ answer: RuntimeAnswer | undefined; attempts: number }> {
  for (let attempts = 1; ; attempts += 1) {
    const pause = signal.aborted ? undefined : pausesMs[attempts - 1];
    try {
      const answer = await ask();
      if (answer.status !== 503 || pause === undefined) return { answer, attempts };
    } catch (error) {
      if (!(error instanceof OutgoingFailed)) throw error;
      if (pause === undefined) return { answer: undefined, attempts };
    }
    // Whoever is told to stop stops waiting, and asks one last time.
    await delay(pause, undefined, { signal }).catch(() => undefined);
  }
}

/** Whether the runtime has this very definition under this version. */
export async function isPublished(component: JsonValue, runtime: RuntimeClient): Promise<boolean> {
  const address = addressOf(component);
  if (address === undefined) return false;
  const found = await runtime.findComponent(address).catch((error: unknown) => {
    if (error instanceof OutgoingFailed) return undefined;
    throw error;
  });
  return found !== undefined && hasSameDefinition(component as JsonObject, found);
}

export const hasSameDefinition = (component: JsonObject, published: JsonObject): boolean =>
  canonicalText(component["attributes"] ?? {}) === canonicalText(published["attributes"] ?? {}) &&
  // The runtime gathers the tags of all versions.
  tagsOf(component).every((tag) => tagsOf(published).includes(tag));

const tagsOf = ({ tags }: JsonObject): readonly JsonValue[] => (Array.isArray(tags) ? tags : []);

export interface NamedComponent {
  domain: string;
  flow: string;
  key: string;
  version: string;
}

/** Undefined when the component does not say who it is. */
export function addressOf(component: JsonValue): NamedComponent | undefined {
  if (!isJsonObject(component)) return undefined;
  const { domain, flow, key, version } = component;
  const isNamed = [domain, flow, key, version].every((part) => typeof part === "string");
  return isNamed ? ({ domain, flow, key, version } as unknown as NamedComponent) : undefined;
}

function nameOf(component: JsonValue): string | undefined {
  const address = addressOf(component);
  return address === undefined ? undefined : `${address.flow} '${address.key}' ${address.version}`;
}
