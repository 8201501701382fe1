/** Which sender a channel gets, and what the configuration must have for it. */
import { describe, expect, test } from "vitest";
import { StartRefusal } from "../../src/engine/start-refusal.ts";
import { openTestNotifications } from "../support/notifications.ts";
import { startWebhook } from "../support/webhook.ts";

describe("a channel", () => {
  test("without a sender fails and says where to bind it", async () => {
    const { send } = openTestNotifications(["email=log"]);

    await expect(send({ channel: "sms" })).rejects.toMatchObject({
      name: "NotificationFailed",
      message:
        "The channel 'sms' has no sender. Bind it in Notification.Channels, for example 'sms=smtp' or 'sms=webhook:https://…'.",
    });
  });

  test("is found in any letter case", async () => {
    const { send } = openTestNotifications(["Email=LOG"]);

    expect(await send({ channel: "eMail" })).toEqual({ sender: "log" });
  });

  test("without a binding of its own takes that of all others", async () => {
    const hook = await startWebhook();
    const { send } = openTestNotifications([`*=webhook:${hook.url}`, "audit=log"]);

    expect(await send({ channel: "sms" })).toEqual({ sender: "webhook" });
    expect(await send({ channel: "state" })).toEqual({ sender: "webhook" });
    expect(await send({ channel: "audit" })).toEqual({ sender: "log" });
  });

  test("named state is written to the log until it is bound", async () => {
    const { send, logged } = openTestNotifications([]);

    expect(await send({ channel: "state", key: "k", data: { a: 1 } })).toEqual({ sender: "log" });
    expect(logged).toEqual([
      {
        event: "Notification",
        channel: "state",
        key: "k",
        operation: "create",
        data: { a: 1 },
        metadata: {},
      },
    ]);
  });

  test("whose sender breaks fails like any other, and the fault is told", async () => {
    const fault = new Error("the socket to https://h/hidden-path broke");
    const http = { send: () => Promise.reject(fault), close: () => Promise.resolve() };
    const { send, logged } = openTestNotifications(["sms=webhook:https://h/hidden-path"], { http });

    await expect(send({ channel: "sms" })).rejects.toMatchObject({
      name: "NotificationFailed",
      message: "the socket to https://h*** broke",
    });
    expect(logged).toMatchObject([{ event: "NotificationFault" }]);
    const { message, stack } = logged[0]!["error"] as Error;
    expect(message).toBe("the socket to https://h*** broke");
    expect(stack).toContain("open-notifications.test.ts");
    expect(stack).not.toContain("hidden-path");
  });
});

describe("the start is refused", () => {
  const smtp = { url: "smtp://mail.example", from: "a@b.example", tls: "required" } as const;

  test.each<[string, string[], object, RegExp]>([
    ["an entry that is none", ["email"], {}, /cannot be read at an entry; its entries are/],
    ["an unknown kind", ["email=pigeon"], {}, /at the channel 'email'/],
    ["a webhook without an address", ["sms=webhook"], {}, /at the channel 'sms'/],
    ["a webhook to a file", ["sms=webhook:file:///etc/passwd"], {}, /at the channel 'sms'/],
    ["a target where there is none", ["email=smtp:mail"], {}, /at the channel 'email'/],
    ["a channel bound twice", ["sms=log", "SMS=log"], {}, /binds 'sms' twice/],
    ["no mail server", ["email=smtp"], {}, /needs Notification\.Smtp\.Url/],
    [
      "no sender of mails",
      ["email=smtp"],
      { smtp: { ...smtp, from: "" } },
      /Notification\.Smtp\.From/,
    ],
    [
      "a sender of mails that is none",
      ["email=smtp"],
      { smtp: { ...smtp, from: "a@b.example, c@d.example" } },
      /Notification\.Smtp\.From is 'a@b\.example, c@d\.example'/,
    ],
    ["no sidecar", ["push=dapr"], {}, /needs Dapr\.HttpEndpoint/],
  ])("for %s", (_, channels, options, reason) => {
    const open = () => openTestNotifications(channels, options);

    expect(open).toThrow(StartRefusal);
    expect(open).toThrow(reason);
  });

  test("without the address of a webhook in the message", () => {
    expect(() => openTestNotifications(["sms=webhook:ftp://h/hidden"])).toThrow(
      /^(?!.*hidden).*'sms'/,
    );
  });
});
