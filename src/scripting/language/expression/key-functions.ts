/**
 * What cache-key expressions have beyond rules: `sha256(text)` and `varyKey()`.
 *
 * `varyKey` spells out what the answer of a cached function depends on, so that two requests share
 * an entry only when nothing in it differs: `v=<version>|name=value|name=value`. Which headers go
 * in, the first of these that is there:
 *
 * 1. the names in the instance's data under `varyBy`
 * 2. the function's `varyByHeaders`, and every header of the request that begins with one of its
 *    `varyByHeaderPrefixes`; the runtime passes both on in `MetaData`
 * 3. every header: few hits, but never somebody else's answer
 */
import { createHash } from "node:crypto";
import { isJsonObject } from "../../../engine/exact-json.ts";
import type { Evaluation } from "./evaluation.ts";
import { memberOf, textOf } from "./values.ts";

export const varyByHeadersKey = "__cacheVaryByHeaders";
export const varyByHeaderPrefixesKey = "__cacheVaryByHeaderPrefixes";

/** Lower-case hexadecimal, of the text's UTF-8; null counts as empty. */
export function sha256(run: Evaluation, value: unknown): string {
  const text = run.text(textOf(run, value));
  return createHash("sha256").update(text, "utf8").digest("hex");
}

export function varyKey(run: Evaluation): string {
  const headers = run.context.Headers;
  const names = new Set(
    headerNames(run, headers)
      .map((name) => name.trim().toLowerCase())
      .filter((name) => name !== ""),
  );
  const pairs = [...names]
    .toSorted()
    .map((name) => `${name}=${run.text(textOf(run, memberOf(run, headers, name)))}`);
  const version = textOf(run, memberOf(run, run.context.QueryParameters, "version"));
  return run.text(`v=${version === "" ? "latest" : version}|${pairs.join("|")}`);
}

function headerNames(run: Evaluation, headers: unknown): string[] {
  const own = namesAt(run, run.context.Instance?.Data, "varyBy");
  if (own.length > 0) return own;

  const sent = isJsonObject(headers) ? Object.keys(headers) : [];
  const names = namesAt(run, run.context.MetaData, varyByHeadersKey);
  const prefixes = namesAt(run, run.context.MetaData, varyByHeaderPrefixesKey);
  if (names.length === 0 && prefixes.length === 0) return sent;

  run.spend(sent.length * prefixes.length);
  const begins = prefixes.map((prefix) => prefix.toLowerCase());
  const matching = sent.filter((name) =>
    begins.some((prefix) => name.toLowerCase().startsWith(prefix)),
  );
  return [...names, ...matching];
}

function namesAt(run: Evaluation, value: unknown, member: string): string[] {
  const list = memberOf(run, value, member);
  if (!Array.isArray(list)) return [];
  run.spend(list.length);
  return list.filter((name): name is string => typeof name === "string" && name.trim() !== "");
}
