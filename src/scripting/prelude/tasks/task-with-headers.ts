import { describe } from "../describe.ts";
import { ArgumentException, requireText } from "../errors.ts";
import { isObject, setOwn } from "../json.ts";
import { read, WorkflowTask, write } from "./workflow-task.ts";

export type HeaderValues =
  | Readonly<Record<string, string | null | undefined>>
  | ReadonlyMap<string, string | null>;

/** A task that sends headers. Names are kept as written and compared without regard to case. */
export class TaskWithHeaders extends WorkflowTask {
  get Headers(): Record<string, string | null> | null {
    return copied(read<unknown>(this, "headers", null));
  }

  /** Replaces all headers; null clears them. */
  SetHeaders(headers: HeaderValues | null | undefined): void {
    const given = headers instanceof Map ? Object.fromEntries(headers) : (headers ?? null);
    if (given !== null && !isObject(given)) {
      throw new ArgumentException(`Headers must be an object, not ${describe(given)}.`, "headers");
    }
    write(this, "headers", copied(given));
  }

  /** Adds the header, or overwrites the one of that name. */
  AddHeader(key: string, value: string | null | undefined): void {
    const name = requireText(key, "key");
    const headers = this.Headers ?? {};
    setOwn(headers, spelling(headers, name) ?? name, headerText(value));
    write(this, "headers", headers);
  }

  RemoveHeader(key: string): void {
    const headers = this.Headers ?? {};
    const name = spelling(headers, requireText(key, "key"));
    if (name !== undefined) delete headers[name];
    write(this, "headers", Object.keys(headers).length === 0 ? null : headers);
  }
}

const spelling = (headers: object, name: string): string | undefined =>
  Object.keys(headers).find((known) => known.toLowerCase() === name.toLowerCase());

function copied(headers: unknown): Record<string, string | null> | null {
  if (!isObject(headers)) return null;
  const copy: Record<string, string | null> = {};
  for (const name of Object.keys(headers)) setOwn(copy, name, headerText(headers[name]));
  return copy;
}

/** What is not a text goes out as its JSON. */
const headerText = (value: unknown): string | null => {
  if (value === null || value === undefined) return null;
  return typeof value === "string" ? value : (JSON.stringify(value) ?? null);
};
