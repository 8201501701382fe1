/** What the tasks of an instance did outside, from their journal. */
import { problems } from "../engine/problems.ts";
import type { FunctionPorts, ListedTask } from "../runtime/function-ports.ts";
import { stableId } from "../tasks/stable-id.ts";
import { answerWith, type FunctionAnswer } from "./function-answer.ts";
import { parameter, type InstanceCall } from "./instance-call.ts";
import { loadLevels, refuseQuery } from "./levels.ts";

export async function callTasks(
  ports: FunctionPorts,
  { polled, asker }: InstanceCall,
): Promise<FunctionAnswer> {
  await refuseQuery(ports, await loadLevels(ports, polled), asker.viewer);
  const tasks = await ports.journal.list(polled.id);
  return answerWith({ items: tasks.map(taskItem) });
}

export async function callActions(
  ports: FunctionPorts,
  { polled, asker }: InstanceCall,
): Promise<FunctionAnswer> {
  await refuseQuery(ports, await loadLevels(ports, polled), asker.viewer);
  const taskId = parameter(asker, "taskid");
  if (taskId === undefined) throw problems.taskIdMissing({});
  const tasks = await ports.journal.list(polled.id);
  const task = tasks.find((it) => idOf(it) === taskId.toLowerCase());
  if (task === undefined) throw problems.taskNotFound({ instance: polled.id, taskId });
  return answerWith({ taskId: idOf(task), taskKey: task.taskKey, items: [actionItem(task)] });
}

function taskItem(task: ListedTask): object {
  const { taskKey, record, succeeded, failure } = task;
  const [, hook, group] = task.executionKey.split(":");
  return {
    id: idOf(task),
    taskKey,
    ...(record === undefined
      ? {}
      : {
          transitionKey: record.transitionKey,
          fromState: record.fromState,
          ...(record.toState === undefined ? {} : { toState: record.toState }),
          triggerType: record.trigger,
        }),
    ...(hook === undefined ? {} : { hook }),
    ...(group === undefined ? {} : { order: Number(group) + 1 }),
    status: succeeded ? "completed" : "faulted",
    businessStatus: succeeded ? "success" : "failed",
    ...times(task),
    ...(failure === undefined ? {} : { error: failure.message }),
  };
}

/** The journal keeps the last attempt, and how many there were. */
const actionItem = (task: ListedTask): object => ({
  id: idOf(task),
  status: task.succeeded ? "completed" : "faulted",
  ...times(task),
  detail: `attempt ${task.tries}${task.failure === undefined ? "" : `: ${task.failure.message}`}`,
});

const times = ({ startedAt, finishedAt }: ListedTask) => ({
  startedAt,
  finishedAt,
  durationMs: finishedAt.getTime() - startedAt.getTime(),
});

/** A task is known by the place it ran at. */
const idOf = ({ executionKey }: ListedTask): string => stableId(executionKey, "task");
