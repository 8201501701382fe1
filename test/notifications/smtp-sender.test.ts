import { createServer, type AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../src/engine/exact-json.ts";
import { aCertificate } from "../support/a-certificate.ts";
import { eventually } from "../support/eventually.ts";
import { startMailServer, type MailServer } from "../support/mail-server.ts";
import { openTestNotifications } from "../support/notifications.ts";

const aMail = { to: "ada@example.com", subject: "Hello", text: "Good morning." };

interface ServerOptions {
  scheme?: "smtp" | "smtps";
  login?: string;
  tls?: "required" | "whenOffered" | "off";
}

function sendersFor(
  { port }: Pick<MailServer, "port">,
  { scheme = "smtp", login = "", tls = "off" }: ServerOptions = {},
) {
  const url = `${scheme}://${login}127.0.0.1:${port}`;
  return openTestNotifications(["email=smtp"], {
    smtp: { url, from: "Orders <orders@shop.example>", tls },
  });
}

describe("a mail", () => {
  test("goes to everybody it names, with text, HTML and attachments", async () => {
    const server = await startMailServer();
    const { send } = sendersFor(server);

    const sent = await send({
      data: {
        to: ["ada@example.com", { name: "Grace, Admiral", address: "grace@example.com" }],
        cc: "Linus <linus@example.com>",
        bcc: "hidden@example.com",
        replyTo: "help@shop.example",
        subject: "Sipariş onaylandı – №7",
        text: "Good morning.\n.\nNot the end.",
        html: "<p>Good morning.</p>",
        attachments: [
          { filename: "receipt.txt", content: "7 €" },
          {
            filename: "dot.bin",
            content: "AAEC",
            encoding: "base64",
            contentType: "application/octet-stream",
          },
        ],
      },
    });

    expect(sent).toEqual({ sender: "smtp" });
    const [{ from, recipients, mail, raw }] = server.received as [(typeof server.received)[0]];
    expect(from).toBe("orders@shop.example");
    expect(recipients).toEqual([
      "ada@example.com",
      "grace@example.com",
      "linus@example.com",
      "hidden@example.com",
    ]);
    expect(mail).toMatchObject({
      from: { name: "Orders", address: "orders@shop.example" },
      to: [
        { name: "", address: "ada@example.com" },
        { name: "Grace, Admiral", address: "grace@example.com" },
      ],
      cc: [{ name: "Linus", address: "linus@example.com" }],
      replyTo: [{ address: "help@shop.example" }],
      subject: "Sipariş onaylandı – №7",
    });
    expect(mail.text?.trim()).toBe("Good morning.\n.\nNot the end.");
    expect(mail.html?.trim()).toBe("<p>Good morning.</p>");
    expect(mail.attachments.map(({ filename, content }) => [filename, bytesOf(content)])).toEqual([
      ["receipt.txt", [...Buffer.from("7 €")]],
      ["dot.bin", [0, 1, 2]],
    ]);
    expect(raw).not.toContain("hidden@example.com");
    expect(raw).toContain("Auto-Submitted: auto-generated");
  });

  test("may be written in PascalCase, and take its receivers from the metadata", async () => {
    const server = await startMailServer();
    const { send } = sendersFor(server);

    await send({ data: { To: "ada@example.com", Subject: "A", Body: "one" } });
    await send({ data: "two", metadata: { emailTo: "grace@example.com", subject: "B" } });
    await send({
      data: "<b>three</b>",
      metadata: { to: "ada@example.com", "Content-Type": "text/html; charset=utf-8" },
    });

    expect(
      server.received.map(({ recipients, mail }) => [
        recipients[0],
        mail.subject ?? "",
        (mail.html ?? mail.text)?.trim(),
      ]),
    ).toEqual([
      ["ada@example.com", "A", "one"],
      ["grace@example.com", "B", "two"],
      ["ada@example.com", "", "<b>three</b>"],
    ]);
  });

  test("has the same Message-ID when it is sent again, and another one has another", async () => {
    const server = await startMailServer();
    const { send } = sendersFor(server);

    await send({ key: "r1:onEntry:0:0:email", data: aMail });
    await send({ key: "r1:onEntry:0:0:email", data: aMail });
    await send({ key: "r2:onEntry:0:0:email", data: aMail });

    const ids = server.received.map(({ mail }) => mail.messageId);
    expect(ids[0]).toMatch(/^<[0-9a-f]{40}@shop\.example>$/);
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  test("is sent after a login", async () => {
    const server = await startMailServer({ login: { user: "shop", pass: "p@ss:word" } });
    const { send } = sendersFor(server, { login: "shop:p%40ss%3Aword@" });

    await send({ data: aMail });

    expect(server.received).toMatchObject([{ user: "shop" }]);
  });

  test("that some receivers cannot get goes to the others, and says who was refused", async () => {
    const server = await startMailServer({ refuses: (address) => address.startsWith("gone") });
    const { send } = sendersFor(server);

    const sent = await send({ data: { ...aMail, to: ["gone@example.com", "ada@example.com"] } });

    expect(sent).toEqual({ sender: "smtp", rejected: ["gone@example.com"] });
    expect(server.received).toMatchObject([{ recipients: ["ada@example.com"] }]);
  });

  test("waits for its turn: a server is not overrun", async () => {
    const server = await startMailServer();
    const { send } = sendersFor(server);

    await Promise.all(Array.from({ length: 30 }, (_, i) => send({ key: `r${i}`, data: aMail })));

    expect(server.received).toHaveLength(30);
    expect(server.mostClients()).toBeLessThanOrEqual(5);
  });
});

describe("nobody but the named receivers gets a mail", () => {
  const injections: [string, JsonObject][] = [
    ["a header after a line break", { to: "x@y.z\r\nBcc: evil@z.z" }],
    ["a bare line feed", { to: "x@y.z\nBcc: evil@z.z" }],
    ["a list in one text", { to: "x@y.z, evil@z.z" }],
    ["a list with semicolons", { to: "x@y.z;evil@z.z" }],
    ["a group", { to: "friends: evil@z.z;" }],
    ["two angle addresses", { to: "<x@y.z><evil@z.z>" }],
    ["an address in the name", { to: 'evil@z.z <x@y.z> "' }],
    ["a command in the address", { to: "x@y.z> RCPT TO:<evil@z.z" }],
    ["a quoted local part", { to: '"evil@z.z,x"@y.z' }],
    // Each of these would be read for hours.
    ["a name that is nothing but blanks", { to: `a${" ".repeat(500_000)}!` }],
    ["an address without an end", { to: { name: "a", address: `x@${"ü.".repeat(500_000)}` } }],
    ["a comment", { to: "x@y.z (evil@z.z)" }],
    ["an address literal", { to: "x@[127.0.0.1]" }],
    ["two at signs", { to: "evil@z.z@y.z" }],
    ["a line break in a name", { to: { name: "X\r\nBcc: evil@z.z", address: "x@y.z" } }],
    ["a group object", { to: { name: "friends", group: [{ address: "evil@z.z" }] } }],
    ["a list in an address", { cc: { address: "x@y.z, evil@z.z" } }],
    ["a null character", { to: "x@y.z\0evil" }],
    ["a line separator in the host", { to: "x@y.z\u2028evil" }],
    ["in the reply address", { replyTo: "x@y.z\r\nBcc: evil@z.z" }],
    ["nothing", { to: "" }],
    ["a number", { to: 7 }],
  ];

  test.each(injections)("%s is refused before anything is sent", async (_, change) => {
    const server = await startMailServer();
    const { send } = sendersFor(server);

    await expect(send({ data: { ...aMail, ...change } })).rejects.toThrow("is not one mailbox");
    expect(server.received).toEqual([]);
  });

  test("a line break in the subject or in a file name is no header", async () => {
    const server = await startMailServer();
    const { send } = sendersFor(server);

    await send({ data: { ...aMail, subject: "Hi\r\nBcc: evil@z.z\r\n\r\nbody" } });

    const [received] = server.received;
    expect(received).toMatchObject({
      recipients: ["ada@example.com"],
      mail: { subject: "Hi Bcc: evil@z.z body" },
    });
    expect(received?.raw).not.toMatch(/^Bcc:/m);
    const attachments = [{ filename: "a\r\nX-Evil: 1", content: "" }];
    await expect(send({ data: { ...aMail, attachments } })).rejects.toThrow("'filename'");
  });

  test.each<[string, JsonObject, string]>([
    ["a file as text", { text: { path: "/etc/passwd" } }, "'text' of the mail must be text"],
    ["an address as HTML", { html: { href: "http://127.0.0.1/" } }, "'html' of the mail"],
    [
      "a file as attachment",
      { attachments: [{ filename: "a", path: "/etc/passwd" }] },
      "'content'",
    ],
    ["a path as file name", { attachments: [{ filename: "../a", content: "" }] }, "without a path"],
    [
      "what is no base64",
      { attachments: [{ filename: "a", content: `${" ".repeat(200_000)}ä`, encoding: "base64" }] },
      "'base64'",
    ],
    [
      "a media type with a header",
      { attachments: [{ filename: "a", content: "", contentType: "a/b\r\nX: 1" }] },
      "'contentType'",
    ],
  ])("%s is refused", async (_, change, reason) => {
    const server = await startMailServer();
    const { send } = sendersFor(server);

    await expect(send({ data: { ...aMail, ...change } })).rejects.toThrow(reason);
    expect(server.received).toEqual([]);
  });
});

describe("a mail that is not sent says why", () => {
  test.each<[string, JsonObject, string]>([
    ["no receiver", { to: null }, "nobody to go to"],
    ["no content", { text: null }, "need 'text' or 'html'"],
    [
      "too many receivers",
      { to: Array.from({ length: 51 }, (_, i) => `a${i}@example.com`) },
      "51 recipients; at most 50",
    ],
    ["too long a subject", { subject: "x".repeat(501) }, "501 characters in its subject"],
    ["too much content", { text: "x".repeat(11_000_000) }, "11000000 bytes; at most 10485760"],
    [
      "too many attachments",
      { attachments: Array.from({ length: 21 }, () => ({ filename: "a", content: "" })) },
      "21 attachments; at most 20",
    ],
  ])("%s", async (_, change, reason) => {
    const { send } = sendersFor({ port: 1 });

    await expect(send({ data: { ...aMail, ...change } })).rejects.toThrow(reason);
  });

  test("data that are neither an object nor text", async () => {
    const { send } = sendersFor({ port: 1 });

    await expect(send({ data: 7 })).rejects.toThrow("'to', 'subject' and 'text'");
  });

  test("every receiver is refused", async () => {
    const server = await startMailServer({ refuses: () => true });
    const { send } = sendersFor(server);

    await expect(send({ data: aMail })).rejects.toThrow(
      /refuses the sender or the recipients: .*550 .*no mailbox ada@example\.com/,
    );
    expect(server.received).toEqual([]);
  });

  test("a wrong password, which it does not repeat", async () => {
    const server = await startMailServer({ login: { user: "shop", pass: "right-one" } });
    const { send } = sendersFor(server, { login: "shop:wrong-one@" });

    const failure = await send({ data: aMail }).catch((error: Error) => error);

    expect(failure).toMatchObject({
      name: "NotificationFailed",
      message: expect.stringMatching(/refuses the login in Notification\.Smtp\.Url: 535/) as string,
    });
    expect((failure as Error).message).not.toContain("wrong-one");
  });

  test("a server without TLS, where TLS is required", async () => {
    const server = await startMailServer();
    const { send } = sendersFor(server, { tls: "required" });

    await expect(send({ data: aMail })).rejects.toThrow("Notification.Smtp.Tls");
    expect(server.received).toEqual([]);
  });

  test.each([
    ["smtp", "required", false],
    ["smtp", "whenOffered", false],
    ["smtps", "off", true],
  ] as const)(
    "a certificate that nobody vouches for, with %s and TLS %s",
    async (scheme, tls, secure) => {
      const server = await startMailServer({ tls: aCertificate(), secure });
      const { send } = sendersFor(server, { scheme, tls });

      await expect(send({ data: aMail })).rejects.toThrow(/certificate/);
      expect(server.received).toEqual([]);
    },
  );

  test("but TLS that is off is not tried, whatever the server offers", async () => {
    const server = await startMailServer({ tls: aCertificate() });
    const { send } = sendersFor(server, { tls: "off" });

    await send({ data: aMail });

    expect(server.received).toHaveLength(1);
  });

  test("a server that is down", async () => {
    const { send } = sendersFor({ port: 1 });

    await expect(send({ data: aMail })).rejects.toThrow(
      "The mail server 127.0.0.1:1 cannot be reached; check Notification.Smtp.Url",
    );
  });

  test("a server that says nothing, when the time is over", async () => {
    let open = 0;
    const silent = createServer((socket) => {
      open += 1;
      socket.on("error", () => undefined).on("close", () => (open -= 1));
    });
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void silent.close());
    const { send } = sendersFor({ port: (silent.address() as AddressInfo).port });

    await expect(send({ data: aMail }, { timeoutMs: 200 })).rejects.toThrow(
      "did not take the mail in time",
    );
    await eventually(() => expect(open).toBe(0));
  });

  test("nobody waits for it any more", async () => {
    const ending = new AbortController();
    const server = await startMailServer({ hold: () => new Promise<void>(() => {}) });
    const { send } = sendersFor(server);

    const sending = send({ data: aMail }, { signal: ending.signal });
    await eventually(() => expect(server.mostClients()).toBe(1));
    ending.abort();

    await expect(sending).rejects.toMatchObject({ name: "NotificationFailed" });
  });
});

const bytesOf = (content: ArrayBuffer | Uint8Array | string): number[] =>
  typeof content === "string"
    ? [...Buffer.from(content)]
    : [...new Uint8Array(content as ArrayBuffer)];
