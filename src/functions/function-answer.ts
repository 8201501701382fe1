import { createHash } from "node:crypto";
import { stringifyJson, type JsonValue } from "../engine/exact-json.ts";

/** What a function answers, ready to be sent. */
export interface FunctionAnswer {
  readonly statusCode: number;
  /** Undefined: none, and no content type. */
  readonly body: string | undefined;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
}

export const jsonType = "application/json; charset=utf-8";

export const answerJson = (
  body: string,
  { statusCode = 200, headers = {} }: Partial<FunctionAnswer> = {},
): FunctionAnswer => ({ statusCode, body, contentType: jsonType, headers });

export const answerWith = (value: JsonValue | object): FunctionAnswer =>
  answerJson(stringifyJson(value));

/** Names what a caller would see: 32 hexadecimal digits, quoted. */
export const fingerprint = (...parts: readonly string[]): string =>
  `"${createHash("sha256").update(parts.join("\u0000")).digest("hex").slice(0, 32)}"`;

export interface Tags {
  readonly eTag: string;
  readonly entityEtag?: string | undefined;
}

/** The body is made only for somebody who does not know it yet. */
export async function unlessKnown(
  { eTag, entityEtag }: Tags,
  isKnown: (eTag: string) => boolean,
  body: () => string | Promise<string>,
): Promise<FunctionAnswer> {
  const headers = {
    etag: eTag,
    ...(entityEtag === undefined ? {} : { "x-entity-etag": entityEtag }),
  };
  if (isKnown(eTag)) return { statusCode: 304, body: undefined, contentType: jsonType, headers };
  return answerJson(await body(), { headers });
}
