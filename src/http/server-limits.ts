/** What one request may cost before any rule of the domain looks at it. */
export interface ServerLimits {
  bodyBytes: number;
  jsonDepth: number;
  headerBytes: number;
  headerCount: number;
  /** How long a client may take to send its request; says nothing about how long we may answer. */
  requestTimeoutMs: number;
  /** How long an idle connection stays open; longer than a proxy in front keeps its own. */
  keepAliveTimeoutMs: number;
}

export const defaultLimits: ServerLimits = {
  bodyBytes: 2 * 1024 * 1024,
  jsonDepth: 64,
  headerBytes: 65_536,
  headerCount: 200,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 72_000,
};
