/**
 * One call of a script: JSON in, JSON out (see ../contract.ts). What the handler throws leaves here
 * as it is: the sandbox reads the author's line from it.
 */
import {
  handlerListing,
  handlers,
  type HandlerRow,
  type ScriptAnswer,
  type ScriptCall,
} from "../contract.ts";
import { normaliseAnswer } from "./answer.ts";
import { createContext } from "./context.ts";
import { InvalidOperationException } from "./errors.ts";
import { availableHandlers, findHandler, type ModuleExports } from "./find-handler.ts";
import { stringify } from "./json.ts";
import type { ScriptLog } from "./log.ts";
import { createServices, lendServices } from "./services.ts";
import { createTask } from "./tasks/create-task.ts";
import { configOf } from "./tasks/workflow-task.ts";

export async function invoke(
  moduleExports: ModuleExports,
  handlerName: string,
  argsJson: string,
): Promise<string> {
  if (handlerName === handlerListing) return stringify({ value: availableHandlers(moduleExports) });
  const call = JSON.parse(argsJson) as ScriptCall;
  const row: HandlerRow | undefined = Object.hasOwn(handlers, call.kind)
    ? handlers[call.kind]
    : undefined;
  if (row === undefined || row.handler !== handlerName) {
    throw new InvalidOperationException(
      `'${call.kind}' is not a handler kind of '${handlerName}'.`,
    );
  }
  const found = findHandler(moduleExports, handlerName);
  if (found === undefined) {
    if (row.optional === true) return stringify({ value: null });
    const available = availableHandlers(moduleExports);
    throw new InvalidOperationException(
      `No handler '${handlerName}' found. Available: ${available.length === 0 ? "none" : available.join(", ")}.`,
    );
  }

  const services = createServices(call);
  lendServices(found.script, services);
  const { context, changes } = createContext(call);
  const task = call.task === undefined ? undefined : createTask(call.task);
  const given = { task, context, channel: call.channel, item: call.item, result: call.result };
  const args = row.arguments.map((name) => given[name]);

  const answered = await found.handler.apply(found.script, args);
  const answer: ScriptAnswer = {
    value: normaliseAnswer(row, answered),
    ...(row.changesTask === true && task !== undefined ? { task: configOf(task) } : {}),
    ...changes(),
    ...logged(services.log),
  };
  return stringify(answer);
}

const logged = (log: ScriptLog): Pick<ScriptAnswer, "logs" | "logsDropped"> => ({
  ...(log.entries.length > 0 ? { logs: log.entries } : {}),
  ...(log.dropped > 0 ? { logsDropped: log.dropped } : {}),
});
