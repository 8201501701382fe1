/**
 * A notification as a mail. `Data` has `to`, `cc`, `bcc`, `replyTo`, `subject`, `text` (or `body`),
 * `html` and `attachments`; a text instead of an object is the mail's text. What is missing there is
 * looked for in `Metadata`, also under the names of Dapr's mail binding (`emailTo`, …).
 */
import { isJsonObject, type JsonObject, type JsonValue } from "../engine/exact-json.ts";
import { readMailbox, type Mailbox } from "./mailbox.ts";
import { memberOf } from "./member-of.ts";
import { NotificationFailed, type Notification } from "./sender.ts";

export interface Mail {
  readonly to: readonly Mailbox[];
  readonly cc: readonly Mailbox[];
  readonly bcc: readonly Mailbox[];
  readonly replyTo: Mailbox | undefined;
  readonly subject: string;
  readonly text: string | undefined;
  readonly html: string | undefined;
  readonly attachments: readonly Attachment[];
}

export interface Attachment {
  readonly filename: string;
  readonly content: Buffer;
  readonly contentType: string | undefined;
}

export const mailLimits = {
  recipients: 50,
  subjectLength: 500,
  attachments: 20,
  /** Text, HTML and attachments together, before they are encoded. */
  bytes: 10 * 1024 * 1024,
} as const;

export function readMail({ data, metadata }: Pick<Notification, "data" | "metadata">): Mail {
  const content = isJsonObject(data) ? data : contentOf(data, metadata);
  const given = (...names: string[]) => memberOf(content, ...names) ?? memberOf(metadata, ...names);
  const mail: Mail = {
    to: mailboxes(given("to", "emailTo"), "to"),
    cc: mailboxes(given("cc", "emailCC"), "cc"),
    bcc: mailboxes(given("bcc", "emailBCC"), "bcc"),
    replyTo: mailboxes(given("replyTo"), "replyTo")[0],
    subject: subjectOf(given("subject")),
    text: textOf(memberOf(content, "text", "body"), "text"),
    html: textOf(memberOf(content, "html"), "html"),
    attachments: attachmentsOf(memberOf(content, "attachments")),
  };
  checkLimits(mail);
  return mail;
}

function contentOf(data: JsonValue, metadata: Notification["metadata"]): JsonObject {
  if (typeof data !== "string") {
    throw new NotificationFailed(
      "The data of a mail must be an object with 'to', 'subject' and 'text' or 'html', or the text itself.",
    );
  }
  const type = memberOf(metadata, "Content-Type");
  return typeof type === "string" && /^text\/html\b/i.test(type) ? { html: data } : { text: data };
}

const mailboxes = (value: JsonValue | undefined, field: string): Mailbox[] =>
  value === undefined ? [] : [value].flat().map((item) => readMailbox(item, field));

/** A subject is one line; what would break it is a blank. */
const subjectOf = (value: JsonValue | undefined): string =>
  (textOf(value, "subject") ?? "").replaceAll(/\p{Cc}+/gu, " ").trim();

function textOf(value: JsonValue | undefined, field: string): string | undefined {
  // Only text: the mail library would take an object for the path of a file.
  if (value === undefined || typeof value === "string") return value;
  throw new NotificationFailed(`'${field}' of the mail must be text.`);
}

const attachmentsOf = (value: JsonValue | undefined): Attachment[] =>
  value === undefined ? [] : [value].flat().map((item) => attachmentOf(item));

const mediaType = /^[\w.+-]+\/[\w.+-]+$/;
const base64 = /^[A-Za-z0-9+/\s]*(?:=\s*){0,2}$/;

function attachmentOf(value: JsonValue): Attachment {
  const item = isJsonObject(value) ? value : {};
  const filename = memberOf(item, "filename", "name");
  const content = memberOf(item, "content");
  const encoding = memberOf(item, "encoding") ?? "utf8";
  const contentType = memberOf(item, "contentType");
  const isRight =
    typeof filename === "string" &&
    /^[^\p{Cc}/\\]{1,200}$/u.test(filename) &&
    typeof content === "string" &&
    (encoding === "utf8" || (encoding === "base64" && base64.test(content))) &&
    (contentType === undefined || (typeof contentType === "string" && mediaType.test(contentType)));
  if (!isRight) {
    throw new NotificationFailed(
      "An attachment of a mail needs 'filename' without a path and 'content' as text; 'encoding' is 'utf8' or 'base64', 'contentType' like 'application/pdf'.",
    );
  }
  return { filename, content: Buffer.from(content, encoding), contentType };
}

function checkLimits({ to, cc, bcc, subject, text, html, attachments }: Mail): void {
  const recipients = to.length + cc.length + bcc.length;
  if (recipients === 0) {
    throw new NotificationFailed("The mail has nobody to go to; its data need 'to'.");
  }
  if (text === undefined && html === undefined) {
    throw new NotificationFailed("The mail has no content; its data need 'text' or 'html'.");
  }
  const bytes =
    Buffer.byteLength(text ?? "") +
    Buffer.byteLength(html ?? "") +
    attachments.reduce((sum, { content }) => sum + content.length, 0);
  const counts: [what: string, count: number, most: number][] = [
    ["recipients", recipients, mailLimits.recipients],
    ["characters in its subject", subject.length, mailLimits.subjectLength],
    ["attachments", attachments.length, mailLimits.attachments],
    ["bytes", bytes, mailLimits.bytes],
  ];
  for (const [what, count, most] of counts) {
    if (count <= most) continue;
    throw new NotificationFailed(`The mail has ${count} ${what}; at most ${most} are allowed.`);
  }
}
