/**
 * What the author of a schema says about a mistake, by language:
 *
 *   { "minLength": 3, "x-labels": { "en": "Name", "de": "Name" },
 *     "x-errorMessages": { "minLength": { "en": "Too short", "de": "Zu kurz" } } }
 *
 * That a member is missing is said at the member (`required`), else at the object that lacks it.
 */
import type { Label } from "../definition/model.ts";
import { pickLabel } from "../pick-label.ts";
import { isSchemaObject } from "./nodes.ts";

export interface Words {
  /** Of the place where the mistake is. */
  readonly labels: readonly Label[];
  /** Sentences, each in several languages; none: the author says nothing. */
  readonly messages: readonly (readonly Label[])[];
}

/** `missing`: the members that `required` asks for. */
export function wordsOf(schema: unknown, keyword: string, missing: readonly string[] = []): Words {
  if (!isSchemaObject(schema)) return { labels: [], messages: [] };
  const own = messageIn(schema, keyword);
  const { properties } = schema;
  const ofMembers = missing.map((name) =>
    isSchemaObject(properties) && Object.hasOwn(properties, name)
      ? messageIn(properties[name], keyword)
      : [],
  );
  const isComplete = ofMembers.length > 0 && ofMembers.every((texts) => texts.length > 0);
  const messages = isComplete ? ofMembers : own.length > 0 ? [own] : [];
  return { labels: textsIn(schema["x-labels"]), messages };
}

/** The author's sentences in the reader's language; undefined when there are none. */
export function sayWords(words: Words | undefined, language: string | undefined) {
  return {
    label: pickLabel(words?.labels ?? [], language),
    message: words?.messages.map((texts) => pickLabel(texts, language)).join(" ") || undefined,
  };
}

function messageIn(schema: unknown, keyword: string): Label[] {
  if (!isSchemaObject(schema)) return [];
  const messages = schema["x-errorMessages"];
  return isSchemaObject(messages) && Object.hasOwn(messages, keyword)
    ? textsIn(messages[keyword])
    : [];
}

const textsIn = (map: unknown): Label[] =>
  isSchemaObject(map)
    ? Object.entries(map).flatMap(([language, label]) =>
        typeof label === "string" && label !== "" ? [{ language, label }] : [],
      )
    : [];
