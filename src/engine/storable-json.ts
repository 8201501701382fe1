/**
 * What PostgreSQL cannot keep of JSON: the character NUL, half a surrogate pair, and numbers of
 * astronomic length (it writes exponents out, so a few bytes could become megabytes). Everything
 * else comes back as it was sent.
 */
import { isExactNumber, isJsonObject, type JsonValue } from "./exact-json.ts";

export interface Unstorable {
  /** `attributes.items.0.name`; empty for the value itself. */
  path: string;
  /** A sentence for the sender. */
  reason: string;
}

const largestExponent = 400;
const longestNumber = 10_000;
/** Digits that all exponents of one document may be written out to. */
const mostWrittenOut = 1_000_000;

/** The first thing that cannot be kept; undefined when all of it can. */
export function findUnstorable(value: JsonValue): Unstorable | undefined {
  return look(value, "", { writtenOut: 0 });
}

/**
 * Whether a JSON text has to be looked at closely. One pass over the bytes; says no for all but the
 * texts with an escape `\u`, an exponent or a very long number.
 */
export function mayBeUnstorable(json: Uint8Array): boolean {
  let digits = 0;
  for (let i = 0; i < json.length; i += 1) {
    const byte = json[i]!;
    if (byte >= 0x30 && byte <= 0x39) {
      digits += 1;
      if (digits > longestNumber) return true;
    } else {
      if (digits > 0 && (byte === 0x65 || byte === 0x45)) return true; // 1e, 1E
      if (byte === 0x5c && json[i + 1] === 0x75) return true; // \u
      digits = 0;
    }
  }
  return false;
}

interface Budget {
  writtenOut: number;
}

function look(value: JsonValue, path: string, budget: Budget): Unstorable | undefined {
  if (typeof value === "string") return wrongIn(value, path);
  if (typeof value === "number" || isExactNumber(value)) {
    return isTooLong(String(value), budget)
      ? { path, reason: "The number has too many digits when it is written out." }
      : undefined;
  }
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) {
      const found = look(item, below(path, String(i)), budget);
      if (found !== undefined) return found;
    }
  } else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      const place = below(path, name);
      const found = wrongIn(name, place) ?? look(member, place, budget);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

const below = (path: string, name: string) => (path === "" ? name : `${path}.${name}`);

function wrongIn(text: string, path: string): Unstorable | undefined {
  if (text.includes("\u0000")) {
    return {
      path,
      reason: "The character NUL (\\u0000) cannot be stored. Send the text without it.",
    };
  }
  // Half a pair only: a whole one is one character to the expression.
  if (/\p{Surrogate}/u.test(text)) {
    return {
      path,
      reason: "Half of a surrogate pair is not a character. Send the text in well-formed Unicode.",
    };
  }
  return undefined;
}

function isTooLong(literal: string, budget: Budget): boolean {
  if (literal.length > longestNumber) return true;
  const e = literal.search(/e/i);
  if (e === -1) return false;
  const exponent = Math.abs(Number(literal.slice(e + 1)));
  budget.writtenOut += exponent;
  return exponent > largestExponent || budget.writtenOut > mostWrittenOut;
}
