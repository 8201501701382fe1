/** Notification tasks: what their channels get, and what scripts read of it. */
import { describe, expect, test } from "vitest";
import { createLog } from "../../src/log.ts";
import { slot, taskWith } from "../support/a-script-slot.ts";
import { aComponent, aWorkflow } from "../support/a-workflow.ts";
import { instancesOf } from "../support/instances-of.ts";
import { startMailServerForFile } from "../support/mail-server.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";
import { startWebhook, type Posted } from "../support/webhook.ts";

/** Answers none before all have come: channels that waited for each other would never be done. */
function meeting(size: number) {
  let come = 0;
  let open = () => {};
  const all = new Promise<void>((resolve) => (open = resolve));
  return () => {
    come += 1;
    if (come === size) open();
    return all;
  };
}

const meet = meeting(3);
const [mails, sidecar, sms, state, broken, ...together] = await Promise.all([
  startMailServerForFile(),
  startWebhook(),
  startWebhook(),
  startWebhook(),
  startWebhook({ status: 503 }),
  startWebhook({ hold: meet }),
  startWebhook({ hold: meet }),
  startWebhook({ hold: meet }),
]);

const lines: Record<string, unknown>[] = [];
const app = await startRuntimeForFile({
  log: createLog({
    level: "info",
    destination: { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) },
  }),
  settings: {
    "Notification.Channels": [
      "email=smtp",
      `sms=webhook:${sms.url}/in`,
      "push=dapr",
      "audit=log",
      `state=webhook:${state.url}`,
      `broken=webhook:${broken.url}/hidden-path`,
      ...together.map(({ url }, i) => `together-${i}=webhook:${url}`),
    ],
    "Notification.Smtp.Url": `smtp://127.0.0.1:${mails.port}`,
    "Notification.Smtp.From": "orders@shop.example",
    "Notification.Smtp.Tls": "off",
    "Dapr.HttpEndpoint": sidecar.url,
  },
});

interface Response {
  data: { channels: Record<string, unknown>[] };
  metadata: {
    dispatched: string[];
    skipped: string[];
    errors: { channel: string; message: string }[];
  };
  [member: string]: unknown;
}

let count = 0;

/** Runs one notification task with this config and mapping, and reads what it answered. */
async function tell(config: object, mapping: string | object, attributes: object = {}) {
  count += 1;
  const key = `notify-${count}`;
  const task = `tell-${count}`;
  await app.publish(
    aComponent("sys-tasks", task, { type: "10", config }),
    aComponent("sys-tasks", `keep-${count}`, { type: "7", config: {} }),
    aWorkflow(key)
      .state("open")
      .transition("go", {
        to: "told",
        onExecutionTasks: [
          taskWith(task, typeof mapping === "string" ? slot(mapping) : mapping),
          taskWith(
            `keep-${count}`,
            slot(
              `export const OutputHandler = (context) => ({ Data: { told: context.TaskResponse.tell${count} } });`,
            ),
            2,
          ),
        ],
      })
      .state("told")
      .transition("again"),
  );
  const flow = instancesOf(app, key);
  const id = await flow.begin({ attributes: { order: 7 } });
  const answer = await flow.send(id, "go", { attributes });
  const instance = await flow.read(id);
  return { id, key, answer, instance, told: instance.attributes?.["told"] as Response };
}

const bodyOf = (post: Posted | undefined) => JSON.parse(post?.body ?? "null") as unknown;
const postsOf = ({ posts }: { posts: Posted[] }, id: string) =>
  posts.filter(({ body }) => body.includes(id));

describe("a notification task", () => {
  test("sends each channel its own message, through the sender it is bound to", async () => {
    const { id, told, instance } = await tell(
      { channels: ["email", "sms", "push", "audit"] },
      `
      import { NotificationMessage } from "millrace/script";
      export default class Tell {
        ChannelHandler(channel, context) {
          const id = context.Instance.Id;
          switch (channel) {
            case "email": return new NotificationMessage({ Data: { to: "ada@example.com", subject: id, text: "Order " + context.Instance.Data.order } });
            case "sms": return new NotificationMessage({ Data: { to: "+90", id }, Metadata: { priority: "1" }, Operation: "send" });
            case "push": return { Data: { device: "d", id } };
            default: return { Data: { id, password: "hunter2" } };
          }
        }
      }`,
    );

    expect(instance.metadata).toMatchObject({ currentState: "told", status: "A" });
    expect(told).toMatchObject({
      isSuccess: true,
      taskType: "notification",
      executionDurationMs: expect.any(Number) as number,
      data: {
        channels: [
          { channel: "email", status: "dispatched", sender: "smtp" },
          { channel: "sms", status: "dispatched", sender: "webhook" },
          { channel: "push", status: "dispatched", sender: "dapr" },
          { channel: "audit", status: "dispatched", sender: "log" },
          { channel: "state", status: "dispatched", sender: "webhook" },
        ],
      },
      metadata: {
        dispatched: ["email", "sms", "push", "audit", "state"],
        skipped: [],
        errors: [],
      },
    });
    const mail = mails.received.find((received) => received.mail.subject === id);
    expect(mail).toMatchObject({ recipients: ["ada@example.com"] });
    expect(mail?.mail.text?.trim()).toBe("Order 7");
    expect(bodyOf(postsOf(sms, id)[0])).toMatchObject({
      channel: "sms",
      operation: "send",
      data: { to: "+90", id },
      metadata: { priority: "1" },
    });
    const call = sidecar.posts.find(({ body }) => body.includes(id));
    expect(call).toMatchObject({ path: "/v1.0/bindings/vnext-notification-push" });
    expect(JSON.parse(call?.body ?? "null")).toEqual({
      operation: "create",
      data: { device: "d", id },
      metadata: { "Content-Type": "application/json" },
    });
    const line = lines.find(({ msg, channel }) => msg === "Notification" && channel === "audit");
    expect(line).toMatchObject({ data: { id, password: "***" } });
  });

  test("of an older package, without channels, tells the state channel", async () => {
    const { told } = await tell({ metadata: { method: "post" } }, { type: "G" });

    expect(told.metadata).toEqual({ dispatched: ["state"], skipped: [], errors: [] });
  });

  test("tells the state channel where the instance is, with no mapping at all", async () => {
    const { id, key, told } = await tell({ channels: ["state"] }, { type: "G" });

    expect(told.metadata).toEqual({ dispatched: ["state"], skipped: [], errors: [] });
    const body = bodyOf(postsOf(state, id)[0]) as { id: string };
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      channel: "state",
      operation: "create",
      data: {
        id: body.id,
        source: "vnext",
        type: "vnext.workflow",
        subject: "workflow-state-change",
        data: { domain: "core", flow: key, id, version: "1.0.0" },
      },
      metadata: { instanceId: id, state: "open" },
    });
  });

  test("lets the mapping add to the state channel, but not say which instance it is", async () => {
    const { id, told } = await tell(
      { channels: ["state"] },
      `export const EnrichAsync = async (context) => ({
         Metadata: { user: "u" + context.Instance.Data.order, instanceId: "another" }, Operation: "publish" });`,
    );

    expect(told.metadata.dispatched).toEqual(["state"]);
    expect(bodyOf(postsOf(state, id)[0])).toMatchObject({
      operation: "publish",
      metadata: { user: "u7", instanceId: id, state: "open" },
    });
  });

  test("leaves the state channel out on request", async () => {
    const { id, told } = await tell(
      { channels: ["audit"], includeStateChannel: false },
      `export const ChannelHandler = () => ({ Data: {} });`,
    );

    expect(told.metadata).toEqual({ dispatched: ["audit"], skipped: [], errors: [] });
    expect(postsOf(state, id)).toEqual([]);
  });

  test("sends a channel that is listed twice once", async () => {
    const { id, told } = await tell(
      { channels: ["sms", "SMS", "State"], includeStateChannel: false },
      `export const ChannelHandler = (channel, context) => ({ Data: { id: context.Instance.Id } });`,
    );

    expect(told.metadata.dispatched).toEqual(["sms", "state"]);
    expect(postsOf(sms, id)).toHaveLength(1);
    expect(postsOf(state, id)).toHaveLength(1);
  });

  test("sends its channels side by side", async () => {
    const { told } = await tell(
      { channels: ["together-0", "together-1", "together-2"] },
      `export const ChannelHandler = () => ({ Data: {} });`,
    );

    expect(told.metadata.dispatched).toEqual(["together-0", "together-1", "together-2", "state"]);
  });

  test("gives each channel a key of its own, and the trace of the request", async () => {
    const { id } = await tell(
      { channels: ["sms"] },
      `export const ChannelHandler = (channel, context) => ({ Data: { id: context.Instance.Id } });`,
    );

    const [text, move] = [postsOf(sms, id)[0]?.headers, postsOf(state, id)[0]?.headers];
    expect(text?.["idempotency-key"]).toMatch(/^[0-9a-f-]{36}:.+:sms$/);
    expect(move?.["idempotency-key"]).toBe(
      String(text?.["idempotency-key"]).replace(/sms$/, "state"),
    );
    expect(text?.["traceparent"]).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  });
});

describe("a channel that fails does not stop the others", () => {
  test("whether it has no message, no sender, a bad message, or nobody who takes it", async () => {
    const { id, told, instance } = await tell(
      { channels: ["broken", "carrier-pigeon", "email", "push", "audit", "sms"] },
      `export const ChannelHandler = (channel, context) => {
         if (channel === "audit") return null;
         if (channel === "push") throw new Error("no device known");
         return { Data: { id: context.Instance.Id, to: "x@y.z\\r\\nBcc: evil@z.z", text: "t" } };
       };`,
    );

    expect(instance.metadata).toMatchObject({ currentState: "told", status: "A" });
    expect(told).toMatchObject({
      isSuccess: true,
      metadata: {
        dispatched: ["sms", "state"],
        skipped: ["audit"],
        errors: [
          { channel: "broken", message: expect.stringContaining("answered 503") as string },
          {
            channel: "carrier-pigeon",
            message: expect.stringContaining("Notification.Channels") as string,
          },
          { channel: "email", message: expect.stringContaining("not one mailbox") as string },
          { channel: "push", message: expect.stringContaining("no device known") as string },
        ],
      },
    });
    expect(told.data.channels).toMatchObject([
      { channel: "broken", status: "failed", error: told.metadata.errors[0]?.message },
      { channel: "carrier-pigeon", status: "failed" },
      { channel: "email", status: "failed" },
      { channel: "push", status: "failed" },
      { channel: "audit", status: "skipped" },
      { channel: "sms", status: "dispatched" },
      { channel: "state", status: "dispatched" },
    ]);
    expect(JSON.stringify(told)).not.toContain("hidden-path");
    expect(postsOf(sms, id)).toHaveLength(1);
  });

  test("without a mapping, or with one that has no channel handler", async () => {
    const bare = await tell({ channels: ["sms"] }, { type: "G" });
    const other = await tell({ channels: ["sms"] }, `export const EnrichAsync = () => ({});`);

    expect(bare.told.metadata).toMatchObject({
      dispatched: ["state"],
      errors: [{ channel: "sms", message: expect.stringContaining("has no mapping") as string }],
    });
    expect(other.told.metadata).toMatchObject({
      dispatched: ["state"],
      errors: [
        {
          channel: "sms",
          message: expect.stringContaining("No handler 'ChannelHandler'") as string,
        },
      ],
    });
  });

  test("when the state channel's own script breaks", async () => {
    const { id, told } = await tell(
      { channels: ["sms"] },
      `export const ChannelHandler = (channel, context) => ({ Data: { id: context.Instance.Id } });
       export const EnrichAsync = () => { throw new Error("who is it for?"); };`,
    );

    expect(told.metadata).toMatchObject({
      dispatched: ["sms"],
      errors: [{ channel: "state", message: expect.stringContaining("who is it for?") as string }],
    });
    expect(postsOf(state, id)).toEqual([]);
  });
});

describe("the mapping of a notification", () => {
  test("may be an ordinary one too, which sees the outcome and answers what is merged", async () => {
    const { instance } = await tell(
      { channels: ["audit", "nowhere"], includeStateChannel: false },
      `export default class Tell {
         InputHandler(task, context) { context.MetaData["asked"] = task.Channels; return {}; }
         ChannelHandler(channel, context) { context.MetaData["made-" + channel] = context.MetaData["asked"].length; return { Data: {} }; }
         OutputHandler(context) {
           const { dispatched, errors } = context.Body.metadata;
           return { Data: { outcome: { dispatched, failed: errors.map((e) => e.channel), made: context.MetaData["made-audit"], success: context.Body.isSuccess } } };
         }
       }`,
    );

    expect(instance.attributes).toMatchObject({
      outcome: { dispatched: ["audit"], failed: ["nowhere"], made: 2, success: true },
    });
  });

  test("sets the stage while it makes a message", async () => {
    const { instance } = await tell(
      { channels: ["audit"] },
      `export const ChannelHandler = (channel, context) => { context.Mutations.SetStage("told"); return { Data: {} }; };`,
    );

    expect(instance.metadata.stage).toBe("told");
  });

  test("merges nothing without an output handler", async () => {
    const { instance } = await tell({ channels: ["state"] }, { type: "G" });

    expect(Object.keys(instance.attributes ?? {}).toSorted()).toEqual(["order", "told"]);
  });
});

test("the entry of a finish state tells that the workflow is completed", async () => {
  await app.publish(
    aComponent("sys-tasks", "tell-the-end", { type: "10", config: { channels: ["state"] } }),
    aWorkflow("notify-end")
      .state("open")
      .transition("go", { to: "done" })
      .state("done", {
        type: "finish",
        subType: "success",
        onEntries: [taskWith("tell-the-end", { type: "G" })],
      }),
  );
  const flow = instancesOf(app, "notify-end");
  const id = await flow.begin();

  await flow.send(id, "go");

  expect(bodyOf(postsOf(state, id)[0])).toMatchObject({
    data: { subject: "workflow-completed" },
    metadata: { instanceId: id, state: "done" },
  });
});
