/**
 * Workflows that do one task with effects each, one per task type, and then call `/after`: `go` leads
 * an instance from `open` over both to `done`.
 */
import { slot } from "../support/a-script-slot.ts";
import { aWorkflow, defaultDomain } from "../support/a-workflow.ts";
import { aTask, taskRef } from "../support/run-task.ts";
import { envelope } from "../support/soap-service.ts";

export interface Errand {
  /** The type's name; its workflow is `errand-…`. */
  name: string;
  type: string;
  /** Where its calls outside go, one key each. */
  reaches: readonly string[];
}

export const errands: readonly Errand[] = [
  { name: "dapr", type: "3", reaches: ["/v1.0/invoke/stock/method/take"] },
  { name: "http", type: "6", reaches: ["/http"] },
  { name: "notification", type: "10", reaches: ["/webhook", "mail"] },
  { name: "start", type: "11", reaches: [] },
  { name: "trigger", type: "12", reaches: [] },
  { name: "subprocess", type: "14", reaches: [] },
  { name: "soap", type: "16", reaches: ["/soap"] },
  { name: "set", type: "17", reaches: [] },
  { name: "delete", type: "17", reaches: [] },
  { name: "cache", type: "18", reaches: ["/price"] },
  { name: "fan-out", type: "21", reaches: ["/item/0", "/item/1", "/item/2"] },
];

/** Of the instance whose errand is to move or delete something: the key of that. */
export const otherOf = (key: string): string => `other-${key}`;

const input = (body: string) =>
  slot(`export function InputHandler(task, context) { ${body} return {}; }
    export function OutputHandler(context) { return {}; }`);

const mappings: Readonly<Record<string, object>> = {
  notification: slot(`export function ChannelHandler(channel, context) {
    return { Data: { to: "ada@example.com", subject: context.Instance.Key, text: "done" } };
  }`),
  start: input("task.SetBody({ by: context.Instance.Key });"),
  trigger: input(`task.SetKey("${otherOf("")}" + context.Instance.Key);`),
  subprocess: input("task.SetBody({ by: context.Instance.Key });"),
  set: input("task.SetCacheKey(context.Instance.Key);"),
  delete: input(`task.SetCacheKey("${otherOf("")}" + context.Instance.Key);`),
  cache: input(`task.SetCacheKey("price-" + context.Instance.Key);`),
  "fan-out": slot(`export function ItemInputHandler(task, context, item) {
    task.SetUrl(task.Url + "/" + item.Index); return {};
  }`),
};

const order = { domain: defaultDomain, flow: "order", sync: true };

const configs = (url: string): Readonly<Record<string, object>> => ({
  dapr: { appId: "stock", methodName: "take", httpVerb: "POST", body: { n: 1 } },
  http: { url: `${url}/http`, method: "POST", body: { n: 1 } },
  notification: { channels: ["sms", "email"], includeStateChannel: false },
  start: order,
  trigger: { ...order, transitionName: "ship" },
  subprocess: order,
  soap: { url: `${url}/soap`, soapAction: "urn:go", body: envelope("<go/>") },
  // A repetition that did not know its own first write would take it for somebody else's.
  set: { command: "set", value: { n: 1 }, concurrency: "FirstWrite" },
  delete: { command: "delete" },
  cache: { sourceTask: { ...taskRef("price"), version: "1.0.0" } },
  "fan-out": { itemsPath: "$.list", task: taskRef("item") },
});

export function errandComponents(url: string): object[] {
  const config = configs(url);
  return [
    aWorkflow("order").state("open").transition("ship"),
    aTask("price", "6", { url: `${url}/price`, method: "GET" }),
    aTask("item", "6", { url: `${url}/item`, method: "GET" }),
    aTask("after", "6", { url: `${url}/after`, method: "POST", body: {} }),
    aTask("keep", "17", { command: "set", value: { n: 1 } }),
    ...errands.flatMap(({ name, type }) => [
      aTask(name, type, config[name] ?? {}),
      aWorkflow(`errand-${name}`)
        .start("start", name === "delete" ? { onExecutionTasks: [keepOther] } : {})
        .state("open")
        .transition("go", {
          to: "done",
          onExecutionTasks: [
            { order: 1, task: taskRef(name), mapping: mappings[name] ?? { type: "G" } },
            { order: 2, task: taskRef("after"), mapping: { type: "G" } },
          ],
        })
        .state("done")
        .transition("again"),
    ]),
  ];
}

/** What the errand deletes is there before. */
const keepOther = {
  order: 1,
  task: taskRef("keep"),
  mapping: input(`task.SetCacheKey("${otherOf("")}" + context.Instance.Key);`),
};
