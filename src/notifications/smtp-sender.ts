/**
 * Sends a mail over SMTP. One connection per mail: it can be cut when time is over, and a server
 * that went away in between is no matter.
 */
import { createHash } from "node:crypto";
import MailComposer from "nodemailer/lib/mail-composer";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import type { Mailbox } from "./mailbox.ts";
import { readMail, type Mail } from "./read-mail.ts";
import { NotificationFailed, type Bounds, type Sender } from "./sender.ts";
import { createTurns } from "./turns.ts";

export interface SmtpOptions {
  /** `smtp://user:password@host:587`; `smtps` for TLS from the first byte. */
  readonly url: string;
  readonly from: Mailbox;
  /** Of `smtp`: whether the server has to offer TLS. */
  readonly tls: "required" | "whenOffered" | "off";
}

/** Servers commonly allow a client ten or twenty. */
const mostConnections = 5;

export function createSmtpSender(options: SmtpOptions): Sender {
  const server = serverOf(options);
  const turns = createTurns(mostConnections);
  return async (notification, { timeoutMs, signal }) => {
    const mail = readMail(notification);
    const bounds = { timeoutMs, signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) };
    const message = compose(mail, options.from, notification.key);
    const envelope = {
      from: options.from.address,
      to: [...mail.to, ...mail.cc, ...mail.bcc].map(({ address }) => address),
    };
    try {
      const rejected = await turns(bounds.signal, async () =>
        deliver(server, envelope, await message, bounds),
      );
      return { sender: "smtp", ...(rejected.length === 0 ? {} : { rejected }) };
    } catch (error) {
      throw failureOf(server, error);
    }
  };
}

interface Server {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  readonly tls: SmtpOptions["tls"];
  readonly login: { user: string; pass: string } | undefined;
}

function serverOf({ url, tls }: SmtpOptions): Server {
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === "smtps:";
  return {
    host: hostname.replaceAll(/^\[|\]$/g, ""),
    port: port === "" ? (secure ? 465 : 587) : Number(port),
    secure,
    tls,
    login:
      username === ""
        ? undefined
        : { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
  };
}

/** The same notification has the same Message-ID: a repeated mail is recognised as one. */
function compose(mail: Mail, from: Mailbox, key: string): Promise<Buffer> {
  const { to, cc, bcc, replyTo, subject, text, html, attachments } = mail;
  const id = createHash("sha256").update(key).digest("hex").slice(0, 40);
  const domain = from.address.slice(from.address.lastIndexOf("@") + 1);
  const composer = new MailComposer({
    from,
    to: [...to],
    cc: [...cc],
    bcc: [...bcc],
    replyTo,
    subject,
    text,
    html,
    attachments: [...attachments],
    messageId: `<${id}@${domain}>`,
    // RFC 3834: nobody's holiday notice answers a machine.
    headers: { "Auto-Submitted": "auto-generated" },
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return new Promise((resolve, reject) => {
    composer.compile().build((error, message) => {
      if (error) reject(error);
      else resolve(message);
    });
  });
}

/** Answers with the recipients that the server refused while it took others. */
async function deliver(
  { host, port, secure, tls, login }: Server,
  envelope: { from: string; to: string[] },
  message: Buffer,
  { timeoutMs, signal }: Bounds,
): Promise<string[]> {
  const connection = new SMTPConnection({
    host,
    port,
    secure,
    requireTLS: tls === "required",
    ignoreTLS: tls === "off",
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
  });
  return new Promise<string[]>((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    connection.on("error", reject);
    connection.once("end", () => reject(new Error("the connection was closed")));
    const step =
      (next: () => void) =>
      (error?: Error | null): void => {
        if (error) reject(error);
        else next();
      };
    const send = () =>
      connection.send(envelope, message, (error, info) => {
        if (error) reject(error);
        else resolve((info?.rejected ?? []).map(String));
      });
    connection.connect(
      step(() => (login === undefined ? send() : connection.login(login, step(send)))),
    );
  }).finally(() => connection.close());
}

interface SmtpError {
  readonly code?: string;
  readonly name?: string;
  readonly message?: string;
  readonly response?: string;
}

/** By the library's codes; what the server said is told along, on one line. */
function failureOf({ host, port }: Server, error: unknown): NotificationFailed {
  const { code, name, message = "", response } = error as SmtpError;
  const said = (response ?? message).replaceAll(/\p{Cc}+/gu, " ").slice(0, 300);
  const server = `The mail server ${host}:${port}`;
  const told = (text: string) => new NotificationFailed(text, { cause: error });
  switch (name === "TimeoutError" ? name : code) {
    case "EAUTH":
    case "ENOAUTH":
      return told(`${server} refuses the login in Notification.Smtp.Url: ${said}`);
    case "ETLS":
      return told(
        `${server} cannot be reached over TLS, which Notification.Smtp.Tls asks for: ${said}`,
      );
    case "EENVELOPE":
      return told(`${server} refuses the sender or the recipients: ${said}`);
    case "EMESSAGE":
      return told(`${server} refuses the mail: ${said}`);
    case "TimeoutError":
    case "ETIMEDOUT":
      return told(
        `${server} did not take the mail in time (ExecutionApi.InvocationTimeoutSeconds); whether it goes out is not known.`,
      );
    default:
      return told(`${server} cannot be reached; check Notification.Smtp.Url: ${said}`);
  }
}
