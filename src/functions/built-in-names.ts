/** The names that no function of a user can have on an instance, and which gate stands before each. */
const gated: ReadonlyMap<string, boolean> = new Map([
  ["state", true],
  ["data", true],
  ["view", true],
  ["schema", true],
  ["master", true],
  ["extensions", true],
  ["hierarchy", true],
  ["instance-correlation", true],
  ["tasks", true],
  ["actions", true],
  // They tell what the caller may do, which somebody who may do nothing has to be able to ask.
  ["authorize", false],
  ["permissions", false],
  ["catalog", false],
]);

/** Undefined for what is not built in. */
export const builtInNeedsQueryRoles = (name: string): boolean | undefined =>
  gated.get(name.toLowerCase());

/** The one that domains have; no instance has it. */
export const isHumanTask = (name: string): boolean => name.toLowerCase() === "human-task";
