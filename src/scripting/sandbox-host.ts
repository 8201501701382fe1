/**
 * Runs scripts of every language this service knows: expressions and written-out times in place,
 * TypeScript and JavaScript in the sandbox. Other languages are kept, and refused when reached.
 */
import {
  contextMembers,
  handlers,
  type ContextMember,
  type HandlerKind,
  type ScriptAnswer,
} from "./contract.ts";
import { parseJson, type JsonValue } from "../engine/exact-json.ts";
import { StepFailed } from "../engine/task-failure.ts";
import { createExpressions } from "./expressions.ts";
import {
  createScriptResolver,
  UnresolvedMapping,
  type FindMapping,
  type ResolvedScript,
} from "./resolve-script.ts";
import { ScriptFailed, ScriptSyntaxError, type Sandbox } from "./sandbox.ts";
import { readMoment } from "./schedule.ts";
import type { Schedule, ScriptArguments, ScriptHost, ScriptRequest } from "./script-host.ts";

export interface SandboxHostOptions {
  sandbox: Sandbox;
  findMapping: FindMapping;
  /** The part of the host's configuration that scripts may read, by `:`-separated path. */
  config: Readonly<Record<string, string>>;
  /** store → secret → key → value. */
  secrets: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>>;
  /** Takes the values of secrets out of what leaves a script as text. */
  mask: (text: string) => string;
  /** What scripts log. */
  onLog: (script: string, level: string, message: string) => void;
}

export function createSandboxHost(options: SandboxHostOptions): ScriptHost {
  const { sandbox } = options;
  const resolve = createScriptResolver(options.findMapping);
  const expressions = createExpressions();
  const services = {
    config: JSON.stringify(options.config),
    secrets: JSON.stringify(options.secrets),
  };

  const membersOf = (_found: ResolvedScript): readonly ContextMember[] => contextMembers;

  const resolved = async ({ script, helpers }: ScriptRequest, kind: HandlerKind) => {
    try {
      return await resolve(script, helpers);
    } catch (error) {
      throw asFailure(error, kind, script.location, options.mask);
    }
  };

  const call = async (
    kind: HandlerKind,
    found: ResolvedScript,
    { context, signal }: ScriptRequest,
    args: ScriptArguments,
  ): Promise<string> => {
    const used = membersOf(found);
    const parts = used.flatMap((member) => {
      const json = context.json(member);
      return json === undefined ? [] : [`${JSON.stringify(member)}:${json}`];
    });
    const rest = JSON.stringify({ kind, members: used, ...args }).slice(1, -1);
    const text = `{${rest},"context":{${parts.join(",")}},"config":${services.config},"secrets":${services.secrets}}`;
    const { handler } = handlers[kind];
    try {
      const answer = await sandbox.call({
        script: found.sandbox!,
        handler,
        args: text,
        ...(signal === undefined ? {} : { signal }),
      });
      return answer.value;
    } catch (error) {
      throw asFailure(error, kind, found.location, options.mask);
    }
  };

  const run = async (
    kind: HandlerKind,
    request: ScriptRequest,
    args: ScriptArguments = {},
  ): Promise<{ answer: ScriptAnswer; text: string }> => {
    const found = await resolved(request, kind);
    if (found.sandbox === undefined) throw notRunnable(found, kind);
    const text = await call(kind, found, request, args);
    const answer = JSON.parse(text) as ScriptAnswer;
    for (const { level, message } of answer.logs ?? []) {
      options.onLog(found.location, level, options.mask(message));
    }
    return { answer, text };
  };

  return {
    async holds(request) {
      const found = await resolved(request, "condition");
      if (found.language === "expression")
        return expressions.holds(found.code, request.context.values());
      return (await run("condition", request)).answer.value as boolean;
    },
    async map(request) {
      const { text } = await run("transition", request);
      // Read again by our own parser: digits that a double cannot hold stay as the script wrote them.
      const { value } = parseJson(text) as { value: JsonValue };
      return value ?? undefined;
    },
    async schedule(request): Promise<Schedule> {
      const written = expressions.schedule(request.script, () => request.context.values());
      if (written !== undefined) return written;
      const { answer } = await run("timer", request);
      return readMoment(answer.value);
    },
    async run(kind, request, args) {
      return (await run(kind, request, args)).answer;
    },
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
        return { mistakes: [sayWhere(error.message, error.line, error.column)], warnings: [] };
      }
    },
    close: () => sandbox.close(),
  };
}

const sayWhere = (message: string, line: number | undefined, column: number | undefined) =>
  line === undefined ? message : `${message} (line ${line}, column ${column})`;

const codes: Partial<Record<HandlerKind, string>> = {
  condition: "Transition:100007",
  "mapping.input": "Task:400007",
  "mapping.output": "Task:400008",
};

/** The script's own message, its name and its line; never the sandbox's. */
function asFailure(
  error: unknown,
  kind: HandlerKind,
  location: string,
  mask: (text: string) => string,
): unknown {
  const isOurs = error instanceof ScriptFailed || error instanceof ScriptSyntaxError;
  if (!isOurs) return error;
  const { message, line, column, scriptName } = error;
  const where = line === undefined ? scriptName : `${scriptName}, line ${line}, column ${column}`;
  return new StepFailed(
    {
      code: codes[kind] ?? "Task:400007",
      layer: kind === "mapping.input" || kind === "mapping.output" ? "Task" : "Pipeline",
      message: `${mask(message)} (${where === "" ? location : where})`,
      retryable: error instanceof ScriptFailed && error.kind === "crashed",
    },
    { cause: error },
  );
}

const notRunnable = ({ language, location }: ResolvedScript, kind: HandlerKind) =>
  new StepFailed({
    code: codes[kind] ?? "Task:400007",
    layer: "Pipeline",
    message: `The script '${location}' is written in ${language === "csharp" ? "C#" : language}, which this service keeps but cannot run in this place. Write it in TypeScript.`,
    retryable: false,
  });
