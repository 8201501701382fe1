/**
 * A refusal: the service says no, and says why. Thrown anywhere above the engine, turned into an
 * RFC 7807 response in one place (`http/problem-response.ts`).
 *
 * The thrower gives facts; the row of the catalogue writes the sentence. Programs read `code`,
 * people read `detail`.
 */

/** Messages by path, as the wire's `errors` map carries them. */
export type ErrorsByPath = Record<string, string[]>;

export interface ProblemRow<Facts> {
  status: number;
  prefix: string;
  code: string;
  title: string;
  /** Names the value that was wrong and the remedy. */
  detail: (facts: Facts) => string;
}

export interface ProblemExtras {
  errors?: ErrorsByPath | undefined;
  target?: string | undefined;
  cause?: unknown;
}

export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: number;
  readonly prefix: string;
  readonly code: string;
  readonly title: string;
  readonly errors: ErrorsByPath | undefined;
  readonly target: string | undefined;

  constructor(row: ProblemRow<never>, detail: string, extras: ProblemExtras = {}) {
    super(detail, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.status = row.status;
    this.prefix = row.prefix;
    this.code = row.code;
    this.title = row.title;
    this.errors = extras.errors;
    this.target = extras.target;
  }

  /** `<prefix>.<Module>:<number>`, the form clients compare. */
  get errorCode(): string {
    return `${this.prefix}.${this.code}`;
  }
}

export type ProblemMaker<Facts> = ((facts: Facts, extras?: ProblemExtras) => Problem) & {
  readonly row: ProblemRow<Facts>;
};

/** Turns rows into functions that make the problem: `problems.versionAlreadyPublished({ … })`. */
export function catalogue<Rows extends Record<string, ProblemRow<never>>>(
  rows: Rows,
): { [K in keyof Rows]: Rows[K] extends ProblemRow<infer Facts> ? ProblemMaker<Facts> : never } {
  const makers: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(rows)) {
    const make = (facts: never, extras?: ProblemExtras) =>
      new Problem(row, row.detail(facts), extras);
    makers[name] = Object.assign(make, { row });
  }
  return makers as never;
}
