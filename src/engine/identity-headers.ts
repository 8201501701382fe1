/**
 * Who acts, as plain headers. A gateway authenticates and passes identity on this way; a task that
 * reaches another instance passes it on in turn.
 */
export const identityHeaders: ReadonlySet<string> = new Set(
  "sub act_sub userid act_uid given_name family_name role client_id consent_id position".split(" "),
);

/** Roles are separated by commas or blanks. */
export const rolesIn = (header: string | undefined): string[] =>
  header === undefined ? [] : [...new Set(header.split(/[\s,]+/).filter((role) => role !== ""))];

/**
 * What one runtime tells another beside the request itself. Plumbing: scripts and histories do not
 * see it, and it is believed from trusted peers only.
 */
export const peerHeaders = {
  /** How many tasks that start or move instances led to this request. */
  triggerDepth: "x-millrace-trigger-depth",
  /** The id of the instance to start, so that a repeated request starts nothing twice. */
  instanceId: "x-millrace-instance-id",
} as const;

export const isPeerHeader = (name: string): boolean =>
  name === peerHeaders.triggerDepth || name === peerHeaders.instanceId;
