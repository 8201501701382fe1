/** Goes on with an instance after what it waited for: its subflow, or its caller's poll. */
import { bareTransition } from "./bare-transition.ts";
import { beginRun, type RunRequest } from "./begin-run.ts";
import { noPayload, type Phase, type Program, type Run, type Tools } from "./run.ts";
import type { Author, Instance } from "../instance.ts";

export const resumption = bareTransition({
  key: "$resume",
  target: "$self",
  triggerType: "automatic",
});

export interface Resumption {
  program: Program;
  instance: Instance;
  /** `resume` to hear how the subflow ended, `auto` when there is nothing to hear. */
  phase: Extract<Phase, "resume" | "auto">;
  author: Author;
  headers: Readonly<Record<string, string>>;
  roles: readonly string[];
  triggerDepth?: number | undefined;
}

/**
 * What is merged here belongs to the newest record, which is closed. The index is beyond all that
 * the record's own tasks have merged, and grows with the instance, so nothing is merged under one
 * index twice.
 */
export function resumeWaiting(given: Resumption, tools: Tools): Run {
  const { phase, program, instance, author, headers, roles, triggerDepth } = given;
  const request: RunRequest = {
    kind: "resume",
    trigger: "automatic",
    payload: noPayload,
    author,
    headers,
    roles,
    triggerDepth,
  };
  const run = beginRun(request, { program, instance, transition: resumption }, tools);
  return {
    ...run,
    phase,
    // A hop that makes no record takes no number.
    instance,
    hop: { ...run.hop, seq: instance.lastSeq },
    record: { ...run.record, seq: instance.lastSeq, finishedAt: run.hop.startedAt },
    changes: firstIndex + instance.rev,
  };
}

const firstIndex = 1000;
