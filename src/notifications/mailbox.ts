/**
 * One mailbox, from a text such as `Ada <ada@example.com>` or from `{ name, address }`.
 *
 * Exactly one: mail libraries read lists and groups out of a text, and the text may come from a
 * stranger. A line break, a comma or a group here would send the mail to people of his choice.
 */
import { domainToASCII } from "node:url";
import { isJsonObject, stringifyJson, type JsonValue } from "../engine/exact-json.ts";
import { memberOf } from "./member-of.ts";
import { NotificationFailed } from "./sender.ts";

export interface Mailbox {
  readonly name: string;
  readonly address: string;
}

/** `field` is where the value stands, for the message. */
export function readMailbox(value: JsonValue, field: string): Mailbox {
  const parts = partsOf(value);
  const mailbox = parts === undefined ? undefined : checked(parts);
  if (mailbox !== undefined) return mailbox;
  throw new NotificationFailed(
    `'${field}' of the mail has ${shown(value)}, which is not one mailbox. Write 'ada@example.com', 'Ada <ada@example.com>' or { "name": …, "address": … }; several go into a list.`,
  );
}

const named = /^(?:"([^"]*)"|([^"<>]*))\s*<([^<>]*)>$/;
/** Of the text, name and address together: nobody's is longer, and reading one could take hours. */
const longest = 1000;

function partsOf(value: JsonValue): Mailbox | undefined {
  if (isJsonObject(value)) {
    const name = memberOf(value, "name") ?? "";
    const address = memberOf(value, "address");
    return typeof name === "string" && typeof address === "string" ? { name, address } : undefined;
  }
  if (typeof value !== "string" || value.length > longest) return undefined;
  const [, quoted, bare = "", address] = named.exec(value.trim()) ?? [];
  return address === undefined
    ? { name: "", address: value }
    : { name: (quoted ?? bare).trim(), address };
}

const localPart = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/;
const domainName =
  /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const controlCharacter = /\p{Cc}/u;

function checked({ name, address }: Mailbox): Mailbox | undefined {
  if (name.length > 200 || address.length > longest) return undefined;
  if (controlCharacter.test(name) || controlCharacter.test(address)) return undefined;
  const trimmed = address.trim();
  const at = trimmed.lastIndexOf("@");
  const local = trimmed.slice(0, Math.max(at, 0));
  const domain = domainToASCII(trimmed.slice(at + 1));
  if (local.length > 64 || !localPart.test(local)) return undefined;
  if (domain.length > 253 || !domainName.test(domain)) return undefined;
  return { name, address: `${local}@${domain}` };
}

/** As JSON: a line break in the open would forge lines wherever the message is written. */
function shown(value: JsonValue): string {
  const text = stringifyJson(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
