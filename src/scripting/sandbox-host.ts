/**
 * Runs scripts of every language this service knows: expressions and written-out times in place,
 * TypeScript and JavaScript in the sandbox. Other languages are kept, and refused when reached.
 */
import { stringifyJson, type JsonValue } from "../engine/exact-json.ts";
import { StepFailed } from "../engine/task-failure.ts";
import { usedMembers } from "./context-members.ts";
import {
  handlers,
  logLevels,
  type ContextMember,
  type HandlerKind,
  type LogLevel,
  type ScriptAnswer,
} from "./contract.ts";
import { createExpressions } from "./expressions.ts";
import { languageNames } from "./language/detect-language.ts";
import type { LogLine } from "./log-line.ts";
import { InvalidAnswer, readAnswer } from "./read-answer.ts";
import {
  createScriptResolver,
  UnresolvedMapping,
  type FindMapping,
  type ResolvedScript,
} from "./resolve-script.ts";
import { ScriptFailed, ScriptSyntaxError, type Sandbox, type SandboxScript } from "./sandbox.ts";
import { readMoment } from "./schedule.ts";
import type {
  Schedule,
  ScriptArguments,
  ScriptHost,
  ScriptLogLine,
  ScriptRequest,
} from "./script-host.ts";

export interface SandboxHostOptions {
  sandbox: Sandbox;
  findMapping: FindMapping;
  /** The part of the host's configuration that scripts may read, by `:`-separated path. */
  config: Readonly<Record<string, string>>;
  /** store → secret → key → value. */
  secrets: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>>;
  /** Takes the values of secrets out of what leaves a script as text. */
  mask: (text: string) => string;
  onLog: (line: ScriptLogLine) => void;
  now: () => Date;
}

export function createSandboxHost(options: SandboxHostOptions): ScriptHost {
  const { sandbox, mask, onLog } = options;
  const resolve = createScriptResolver(options.findMapping);
  const expressions = createExpressions();
  const membersOf = createMemberLists();
  const services = `"config":${JSON.stringify(options.config)},"secrets":${JSON.stringify(options.secrets)}`;

  const resolved = async ({ script, helpers }: ScriptRequest, kind: HandlerKind) => {
    try {
      return await resolve(script, helpers);
    } catch (error) {
      throw asFailure(error, kind, mask);
    }
  };

  const tellLogs = (script: string, { context }: ScriptRequest, lines: readonly LogLine[]) => {
    const { origin = {} } = context;
    for (const { level, message } of lines) {
      onLog({ script, level: levelOf(level), message: mask(message), origin });
    }
  };

  const call = async (
    kind: HandlerKind,
    script: SandboxScript,
    request: ScriptRequest,
    args: ScriptArguments,
  ): Promise<ScriptAnswer> => {
    const { context, signal } = request;
    const members = membersOf(script, kind);
    const preparing = context.prepare?.(members);
    if (preparing !== undefined) await preparing;
    const parts = members.flatMap((member) => {
      const json = context.json(member);
      return json === undefined ? [] : [`"${member}":${json}`];
    });
    const rest = stringifyJson({ kind, members, ...args }).slice(1, -1);
    try {
      const answer = await sandbox.call({
        script,
        handler: handlers[kind].handler,
        args: `{${rest},"context":{${parts.join(",")}},${services}}`,
        ...(signal === undefined ? {} : { signal }),
      });
      tellLogs(script.name, request, answer.logs);
      return readAnswer(kind, answer.value);
    } catch (error) {
      if (error instanceof ScriptFailed) tellLogs(script.name, request, error.logs);
      if (error instanceof InvalidAnswer) throw badAnswer(error, script, kind);
      throw asFailure(error, kind, mask);
    }
  };

  const runFound = async (
    found: ResolvedScript,
    kind: HandlerKind,
    request: ScriptRequest,
    args: ScriptArguments = {},
  ): Promise<ScriptAnswer> => {
    if (found.language === "expression" && kind === "cacheKey") {
      return { value: expressions.key(found.code, request.context.values()) };
    }
    if (found.sandbox === undefined) throw notRunnable(found, kind);
    return call(kind, found.sandbox, request, args);
  };
  const run = async (kind: HandlerKind, request: ScriptRequest, args?: ScriptArguments) =>
    runFound(await resolved(request, kind), kind, request, args);

  return {
    async holds(request) {
      const found = await resolved(request, "condition");
      if (found.language === "expression") {
        return expressions.holds(found.code, request.context.values());
      }
      return (await runFound(found, "condition", request)).value as boolean;
    },
    async map(request) {
      const { value } = await run("transition", request);
      return (value as JsonValue) ?? undefined;
    },
    async schedule(request): Promise<Schedule> {
      const written = expressions.schedule(request.script, () => request.context.values());
      if (written !== undefined) return written;
      return readMoment((await run("timer", request)).value, options.now());
    },
    run,
    async check(script, helpers) {
      // A timer may be written out: `PT30M`.
      if (expressions.isMoment(script.code)) return { mistakes: [], warnings: [] };
      try {
        const found = await resolve(script, helpers);
        if (found.language === "expression") return expressions.check(found.code);
        if (found.sandbox !== undefined) await sandbox.compile(found.sandbox);
        return { mistakes: [], warnings: found.warnings };
      } catch (error) {
        if (!(error instanceof ScriptSyntaxError)) throw error;
        // A package is published file by file: what is not there yet may follow.
        if (error instanceof UnresolvedMapping) return { mistakes: [], warnings: [error.message] };
        return { mistakes: [sayWhere(error, script.location)], warnings: [] };
      }
    },
    close: () => sandbox.close(),
  };
}

/** Which members each handler of a script is sent: found out once, from its text. */
function createMemberLists() {
  const known = new WeakMap<SandboxScript, Map<HandlerKind, readonly ContextMember[]>>();
  return (script: SandboxScript, kind: HandlerKind): readonly ContextMember[] => {
    let byKind = known.get(script);
    if (byKind === undefined) known.set(script, (byKind = new Map()));
    let members = byKind.get(kind);
    if (members === undefined) {
      const hasHelpers = script.helpers.length > 0;
      byKind.set(kind, (members = [...usedMembers(script.source, { kind, hasHelpers })]));
    }
    return members;
  };
}

const levelOf = (level: string): LogLevel =>
  logLevels.find((known) => known === level) ?? "Information";

/** The slot's path stands before it; a mistake in a helper says so. */
function sayWhere({ message, line, column, scriptName }: ScriptSyntaxError, location: string) {
  const elsewhere = scriptName === location ? "" : `${scriptName}, `;
  return line === undefined ? message : `${message} (${elsewhere}line ${line}, column ${column})`;
}

/** What the incident of a failed handler is filed under. */
const failures: Readonly<Partial<Record<HandlerKind, { code: string; layer: "Task" }>>> = {
  "mapping.input": { code: "Task:400007", layer: "Task" },
  "mapping.output": { code: "Task:400008", layer: "Task" },
};
const fileUnder = (kind: HandlerKind) =>
  failures[kind] ?? {
    code: kind === "condition" ? "Transition:100007" : "Task:400007",
    layer: "Pipeline" as const,
  };

/**
 * The script's own message, its name and its line; never the sandbox's. Without a cause: that one's
 * text may hold a secret.
 */
function asFailure(error: unknown, kind: HandlerKind, mask: (text: string) => string): unknown {
  const isOurs = error instanceof ScriptFailed || error instanceof ScriptSyntaxError;
  if (!isOurs) return error;
  const { message, line, column, scriptName } = error;
  const where = line === undefined ? scriptName : `${scriptName}, line ${line}, column ${column}`;
  return new StepFailed({
    ...fileUnder(kind),
    message: mask(`${message} (${where})`),
    errorType: error instanceof ScriptFailed ? typeOf(error) : undefined,
    retryable: error instanceof ScriptFailed && error.kind === "crashed",
  });
}

/** What error boundaries know it by. */
const typeOf = ({ kind, errorName }: ScriptFailed): string | undefined =>
  kind === "timeout" ? "TimeoutException" : errorName || undefined;

const badAnswer = ({ message }: InvalidAnswer, { name }: SandboxScript, kind: HandlerKind) =>
  new StepFailed({ ...fileUnder(kind), message: `${message} (${name})`, retryable: false });

const notRunnable = ({ language, location }: ResolvedScript, kind: HandlerKind) =>
  new StepFailed({
    ...fileUnder(kind),
    message: `The script '${location}' is written in ${languageNames[language]}, which this service keeps but cannot run in this place. Write it in TypeScript.`,
    retryable: false,
  });
