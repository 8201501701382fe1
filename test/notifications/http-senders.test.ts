/** The webhook and the Dapr binding, against servers that keep what they get. */
import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { parseJson } from "../../src/engine/exact-json.ts";
import { openTestNotifications } from "../support/notifications.ts";
import { startWebhook } from "../support/webhook.ts";

const trace = { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` };

describe("a webhook", () => {
  test("gets the whole message, number for number, and its key", async () => {
    const hook = await startWebhook();
    const { send } = openTestNotifications([`sms=webhook:${hook.url}/in?tenant=7`]);

    const sent = await send({
      channel: "sms",
      key: "record:onEntry:0:0:sms",
      operation: "send",
      data: parseJson('{"to":"+90 555","amount":100.00,"id":12345678901234567890}'),
      metadata: { priority: "high" },
      trace,
    });

    expect(sent).toEqual({ sender: "webhook" });
    const [post] = hook.posts;
    expect(post).toMatchObject({
      method: "POST",
      path: "/in?tenant=7",
      headers: {
        "content-type": "application/json",
        "idempotency-key": "record:onEntry:0:0:sms",
        ...trace,
      },
    });
    expect(post?.headers).not.toHaveProperty("webhook-signature");
    const id = (JSON.parse(post!.body) as { id: string }).id;
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(post?.body).toBe(
      `{"id":"${id}","channel":"sms","operation":"send","data":{"to":"+90 555","amount":100.00,"id":12345678901234567890},"metadata":{"priority":"high"}}`,
    );
  });

  test("gets the credentials of its address in a header", async () => {
    const hook = await startWebhook();
    const address = hook.url.replace("//", "//shop:p%40ss@");
    const { send } = openTestNotifications([`sms=webhook:${address}/in`]);

    await send({ channel: "sms" });

    const authorization = `Basic ${Buffer.from("shop:p@ss").toString("base64")}`;
    expect(hook.posts).toMatchObject([{ path: "/in", headers: { authorization } }]);
  });

  test("recognises a repetition by id and key", async () => {
    const hook = await startWebhook();
    const { send } = openTestNotifications([`sms=webhook:${hook.url}`]);

    for (const key of ["k1", "k1", "k2"]) await send({ channel: "sms", key });

    const [first, again, other] = hook.posts.map(
      ({ headers, body }) =>
        `${headers["idempotency-key"] as string} ${(JSON.parse(body) as { id: string }).id}`,
    );
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });

  const bytes = "c2VjcmV0LWJ5dGVz";
  test.each([
    ["plain-secret", Buffer.from("plain-secret")],
    [`whsec_${bytes}`, Buffer.from(bytes, "base64")],
  ])("is signed with the key that %s stands for", async (webhookSecret, key) => {
    const hook = await startWebhook();
    const now = () => new Date("2026-01-31T12:00:00.900Z");
    const { send } = openTestNotifications([`sms=webhook:${hook.url}`], { webhookSecret, now });

    await send({ channel: "sms", data: { to: "Ö" } });

    const { headers, body } = hook.posts[0]!;
    const id = (JSON.parse(body) as { id: string }).id;
    const signature = createHmac("sha256", key).update(`${id}.1769860800.${body}`).digest("base64");
    expect(headers).toMatchObject({
      "webhook-id": id,
      "webhook-timestamp": "1769860800",
      "webhook-signature": `v1,${signature}`,
    });
  });

  test.each([
    [500, "answered 500"],
    [404, "answered 404"],
    [302, "answered 302"],
  ])("that answers %i has not taken the message", async (status, reason) => {
    const target = await startWebhook();
    const hook = await startWebhook({ status, headers: { location: target.url } });
    const { send } = openTestNotifications([`sms=webhook:${hook.url}`]);

    await expect(send({ channel: "sms" })).rejects.toThrow(
      new RegExp(`The webhook of the channel 'sms' ${reason}`),
    );
    expect(target.posts).toEqual([]);
  });

  test("that does not answer in time fails, and keeps its address to itself", async () => {
    const hook = await startWebhook({ hold: () => new Promise<void>(() => {}) });
    const address = `${hook.url.replace("//", "//user:hidden-password@")}/services/T0/hidden-path?key=hidden-query`;
    const { send } = openTestNotifications([`sms=webhook:${address}`]);

    const failure = await send({ channel: "sms" }, { timeoutMs: 200 }).catch((e: Error) => e);

    expect(failure).toMatchObject({
      name: "NotificationFailed",
      message: expect.stringContaining("gave no answer") as string,
    });
    expect((failure as Error).message).not.toContain("hidden");
  });

  test("that is not there fails", async () => {
    const { send } = openTestNotifications(["sms=webhook:http://127.0.0.1:1/in"]);

    await expect(send({ channel: "sms" })).rejects.toThrow(
      /The webhook of the channel 'sms' gave no answer/,
    );
  });
});

describe("a Dapr output binding", () => {
  const daprAt = ({ url }: { url: string }) => ({ endpoint: `${url}/`, apiToken: "sidecar-token" });

  test.each([
    ["push=dapr", "/v1.0/bindings/vnext-notification-push"],
    ["push=dapr:phones", "/v1.0/bindings/phones"],
    ["*=dapr", "/v1.0/bindings/vnext-notification-push"],
  ])("bound as %s is %s", async (binding, path) => {
    const sidecar = await startWebhook({ status: 204 });
    const { send } = openTestNotifications([binding], { dapr: daprAt(sidecar) });

    const sent = await send({
      channel: "push",
      key: "record:onEntry:0:0:push",
      data: { title: "Hi" },
      metadata: { device: "7" },
      trace,
    });

    expect(sent).toEqual({ sender: "dapr" });
    expect(sidecar.posts).toMatchObject([
      {
        method: "POST",
        path,
        headers: {
          "content-type": "application/json",
          "idempotency-key": "record:onEntry:0:0:push",
          "dapr-api-token": "sidecar-token",
          ...trace,
        },
      },
    ]);
    expect(JSON.parse(sidecar.posts[0]!.body)).toEqual({
      operation: "create",
      data: { title: "Hi" },
      metadata: { "Content-Type": "application/json", device: "7" },
    });
  });

  test("that is not known to the sidecar fails by name", async () => {
    const sidecar = await startWebhook({ status: 400 });
    const { send } = openTestNotifications(["push=dapr:phones"], { dapr: daprAt(sidecar) });

    await expect(send({ channel: "push" })).rejects.toThrow(
      /The Dapr binding 'phones' answered 400/,
    );
  });
});
