import { StartRefusal } from "../engine/start-refusal.ts";

/**
 * Named spots where a crash would hurt most, on both sides of every write that matters. Free when
 * nobody armed them; the crash tests arm one by environment and the process dies exactly there.
 *
 * `MILLRACE_FAULT_POINT=after-journal` kills at the first pass, `after-journal:3` at the third.
 */
export const faultPoints = [
  "before-start-write",
  "after-start-write",
  "before-accept-write",
  "after-accept-write",
  "before-claim",
  "after-claim",
  "before-run",
  "before-checkpoint",
  "after-checkpoint",
  "before-task",
  "after-task",
  "after-journal",
  "before-settle-write",
  "after-settle-write",
  "before-answer",
  "before-child-start",
  "before-resume",
  "before-retry-write",
  "after-retry-write",
] as const;

export type FaultPointName = (typeof faultPoints)[number];

export type FaultPoint = (name: FaultPointName) => void;

export const noFaultPoints: FaultPoint = () => {};

export function faultPointFrom(armed: string | undefined, die: () => void): FaultPoint {
  if (armed === undefined || armed === "") return noFaultPoints;
  const [name, pass = "1"] = armed.split(":");
  let left = Number(pass);
  if (!faultPoints.some((known) => known === name) || !(left > 0)) {
    throw new StartRefusal(
      `MILLRACE_FAULT_POINT is '${armed}'; allowed: one of ${faultPoints.join(", ")}, perhaps with ':' and the number of the pass.`,
    );
  }
  return (here) => {
    if (here !== name) return;
    left -= 1;
    if (left === 0) die();
  };
}
