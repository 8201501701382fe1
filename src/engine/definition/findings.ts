import type { ErrorsByPath } from "../problem.ts";

/**
 * What a check has to say about a definition.
 *
 * A mistake refuses the publish: the specification forbids it, or the engine could not run it.
 * A warning accompanies an accepted definition: something is incomplete and got its default, or
 * is kept without effect.
 *
 * `path` is written as JavaScript would reach the member: `attributes.states[2].key`.
 */
export interface Finding {
  readonly path: string;
  readonly message: string;
}

export interface CheckResult {
  readonly mistakes: readonly Finding[];
  readonly warnings: readonly Finding[];
}

/** Where the checks of one component write. */
export interface Report {
  /**
   * True for the system flows and their seed records: the public core package carries authoring
   * shorthand in them (`{ "ref": "Tasks/x.json" }`), which must not fail their publish.
   */
  readonly lenient: boolean;
  /** The component's own domain, which references without one mean. */
  readonly domain: string | undefined;
  mistake(path: string, message: string): void;
  warning(path: string, message: string): void;
}

/** A hostile body could hold a mistake per byte; a person reads none after the first few hundred. */
const mostFindings = 500;

export function createReport(
  subject: Pick<Report, "lenient" | "domain">,
): Report & { result(): CheckResult } {
  const mistakes = createFindingList();
  const warnings = createFindingList();
  return {
    ...subject,
    mistake: (path, message) => mistakes.add(path, message),
    warning: (path, message) => warnings.add(path, message),
    result: () => ({ mistakes: mistakes.list(), warnings: warnings.list() }),
  };
}

function createFindingList() {
  const seen = new Set<string>();
  const findings: Finding[] = [];
  let left = 0;
  return {
    add(path: string, message: string) {
      const id = `${path}\n${message}`;
      if (seen.has(id)) return;
      if (findings.length === mostFindings) {
        left += 1;
        return;
      }
      seen.add(id);
      findings.push({ path, message });
    },
    list: (): Finding[] =>
      left === 0
        ? findings
        : [...findings, { path: "", message: `At least ${left} more are not listed.` }],
  };
}

/** Extends a path: `at("attributes", "states", 2, "key")` is `attributes.states[2].key`. */
export function at(path: string, ...steps: readonly (string | number)[]): string {
  let reached = path;
  for (const step of steps) {
    if (typeof step === "number") reached += `[${step}]`;
    else reached = reached === "" ? step : `${reached}.${step}`;
  }
  return reached;
}

/** The `errors` map of a problem response; what belongs to no member is filed under `general`. */
export function errorsByPath(findings: readonly Finding[]): ErrorsByPath {
  const byPath = new Map<string, string[]>();
  for (const { path, message } of findings) {
    const name = path === "" ? "general" : path;
    const messages = byPath.get(name);
    if (messages === undefined) byPath.set(name, [message]);
    else messages.push(message);
  }
  return Object.fromEntries(byPath);
}
