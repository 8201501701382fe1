/**
 * Takes secrets out of what is written down: logs, job status, history.
 *
 * By key: whatever stands under a name such as `password` or `authorization`, at any depth.
 * By value: registered secrets, bearer and basic credentials, passwords inside addresses, and
 * `name=value` or `"name":"value"` inside texts.
 *
 * A masked event is a bounded copy: cycles, deep trees and huge lists end in a note, never in a hang.
 */
export const masked = "***";

export interface SecretMask {
  /** A copy of `event` without what stands under secret names. Long texts are cut. */
  event: (event: Record<string, unknown>) => Record<string, unknown>;
  /** `text` without secret values. Looks at everything, so it may be the last step before writing. */
  text: (text: string) => string;
}

/** `secrets` are values to know by heart, whatever they are called where they turn up. */
export function createSecretMask(secrets: readonly string[] = []): SecretMask {
  const known = spellings(secrets);
  const text = (given: string) => maskText(given, known);
  // Masked before it is cut: half a secret is still half a secret.
  const shorten = (given: string) =>
    given.length <= maxText
      ? given
      : `${text(given).slice(0, maxText)}… [${given.length} characters]`;
  return {
    text,
    event: (event) =>
      isHarmless(event)
        ? event
        : copyObject(event, { seen: new Set(), left: maxMembers, shorten }, 0),
  };
}

const secretNames = [
  "authorization",
  "proxyauthorization",
  "cookie",
  "setcookie",
  "password",
  "passwd",
  "pwd",
  "passphrase",
  "token",
  "accesstoken",
  "refreshtoken",
  "idtoken",
  "authtoken",
  "npmtoken",
  "npmpassword",
  "secret",
  "clientsecret",
  "apikey",
  "xapikey",
  "privatekey",
  "credential",
  "credentials",
  "connectionstring",
  "databaseurl",
];
const secretNameSet = new Set(secretNames);

/** `npmToken`, `NPM_TOKEN` and `npm-token` are one name. */
export const isSecretName = (name: string): boolean =>
  name.length < longestSpelling && secretNameSet.has(name.replaceAll(notInNames, "").toLowerCase());

/** Headers as they may be stored: credentials have no value there. */
export function maskedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name in headers) kept[name] = isSecretName(name) ? masked : headers[name]!;
  return kept;
}

/**
 * Headers as the history shows them. Here more is hidden than in what is stored: a script may need the
 * `x-device-token` that an application sends, whoever reads the history does not.
 */
export function shownHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const shown = Object.entries(headers).map(([name, value]): [string, string] => [
    name,
    endsInSecretName(name) || isCredential(value) ? masked : value,
  ]);
  return Object.fromEntries(shown);
}

/** `x-vault-token` and `x-amz-access-key`, but not `x-token-type`. */
function endsInSecretName(name: string): boolean {
  const words = name.split(/[-_]/);
  return words.some((_, i) => {
    const end = words.slice(i).join("");
    return isSecretName(end) || secretHeaderEnds.has(end.toLowerCase());
  });
}

const secretHeaderEnds: ReadonlySet<string> = new Set(["accesskey", "subscriptionkey", "jwt"]);

/** `Bearer …`, `Basic …` or a token that is signed, under whatever name. */
const isCredential = (value: string): boolean =>
  /^\s*(bearer|basic)\s+\S/i.test(value) || /^\s*eyJ[\w-]+\.[\w-]+\.[\w-]*\s*$/.test(value);

const notInNames = /[^a-z0-9]/gi;
const longestSpelling = 2 * Math.max(...secretNames.map((name) => name.length));

const maxDepth = 8;
const maxMembers = 1000;
const maxItems = 100;
const maxText = 16_384;

/** A few plain values under harmless names, the usual event, need no copy. */
function isHarmless(event: Record<string, unknown>): boolean {
  for (const name in event) {
    const value = event[name];
    if (typeof value === "object" && value !== null) return false;
    if (typeof value === "bigint" || (typeof value === "string" && value.length > maxText)) {
      return false;
    }
    if (isSecretName(name)) return false;
  }
  return true;
}

interface Walk {
  /** The objects we are inside of. */
  seen: Set<object>;
  /** How many more members may be copied. */
  left: number;
  shorten: (text: string) => string;
}

function copy(value: unknown, walk: Walk, depth: number): unknown {
  if (typeof value === "string") return walk.shorten(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (walk.seen.has(value)) return "[circular]";
  if (depth > maxDepth) return "[deep]";
  walk.seen.add(value);
  const copied = copyContainer(value, walk, depth);
  walk.seen.delete(value);
  return copied;
}

function copyContainer(value: object, walk: Walk, depth: number): unknown {
  if (value instanceof Date) return value;
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Error) return copyError(value, walk, depth);
  if (Array.isArray(value)) return copyList(value, walk, depth);
  if (value instanceof Set) return copyList([...value], walk, depth);
  if (value instanceof Map) {
    return copyObject(Object.fromEntries(value) as Record<string, unknown>, walk, depth);
  }
  return copyObject(value as Record<string, unknown>, walk, depth);
}

function copyObject(value: Record<string, unknown>, walk: Walk, depth: number) {
  const copied: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    if (walk.left <= 0) {
      copied["…"] = "[cut]";
      break;
    }
    walk.left -= 1;
    const hide = isSecretName(name) && !isNothing(member);
    define(copied, name, hide ? masked : copy(member, walk, depth + 1));
  }
  return copied;
}

function copyList(list: readonly unknown[], walk: Walk, depth: number): unknown[] {
  const copied: unknown[] = [];
  for (const item of list) {
    if (walk.left <= 0 || copied.length >= maxItems) {
      copied.push(`[cut: ${list.length} items]`);
      break;
    }
    walk.left -= 1;
    copied.push(copy(item, walk, depth + 1));
  }
  return copied;
}

/** In the order people read: what, why, where. Own members (`code`, a client's request) follow, masked. */
function copyError(error: Error, walk: Walk, depth: number): Record<string, unknown> {
  return {
    type: error.name,
    message: walk.shorten(error.message),
    stack: walk.shorten(error.stack ?? ""),
    ...copyObject(error as unknown as Record<string, unknown>, walk, depth),
    ...(error.cause === undefined ? {} : { cause: copy(error.cause, walk, depth + 1) }),
  };
}

/** Plain assignment to `__proto__` would set the copy's prototype. */
function define(target: object, name: string, value: unknown): void {
  const enumerable = { enumerable: true, writable: true, configurable: true };
  Object.defineProperty(target, name, { value, ...enumerable });
}

const isNothing = (value: unknown) => value === undefined || value === null || value === "";

const credentials = /\b(bearer|basic)\s+[\w~+/.=-]{6,}/gi;
const passwordInAddress =
  /([a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/?#@"'\\]{0,256}):[^\s/?#@"'\\]{1,1024}@/gi;
// `"npmToken":"x"`, `\"npmToken\":\"x\"` (JSON inside a text) and `password=x`.
const namedInText = new RegExp(
  String.raw`\b(${secretNames.map(inText).join("|")})(\\{0,3}["']?\s{0,3}[:=]\s{0,3}\\{0,3}["']?)(?!\*\*\*)[^\s"'\\,;&}\]]{1,4096}`,
  "gi",
);

/** `apikey` also matches `api_key` and `api-key`. */
function inText(name: string): string {
  return name.replace(
    /^(proxy|set|access|refresh|id|auth|npm|client|x?api|private|connection|database)(?=.)/,
    "$1[_-]?",
  );
}

function maskText(text: string, known: readonly string[]): string {
  let clean = text;
  for (const spelling of known) {
    if (clean.includes(spelling)) clean = clean.replaceAll(spelling, masked);
  }
  if (clean.includes("://")) clean = clean.replaceAll(passwordInAddress, `$1:${masked}@`);
  return clean.replaceAll(credentials, `$1 ${masked}`).replaceAll(namedInText, `$1$2${masked}`);
}

/** A secret as it may appear: as it is, escaped in JSON, encoded in an address, in base64. Longest first. */
function spellings(secrets: readonly string[]): string[] {
  const forms = new Set<string>();
  for (const secret of secrets) {
    // Masking every "a" would only hide the log.
    if (secret.length < 4) continue;
    forms.add(secret);
    forms.add(JSON.stringify(secret).slice(1, -1));
    forms.add(encodeURIComponent(secret));
    forms.add(Buffer.from(secret).toString("base64"));
  }
  return [...forms].toSorted((a, b) => b.length - a.length);
}
