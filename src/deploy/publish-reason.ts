/** Why the runtime refused a component: its problem, in the words of a job's results (pure). */
import { isJsonObject, type JsonValue } from "../engine/exact-json.ts";
import type { FailedFile } from "./publish-job.ts";
import type { RuntimeAnswer } from "./runtime-client.ts";

export type Reason = FailedFile["reason"];

/** A definition can be wrong in more places than anybody reads. */
const mostErrors = 50;

export function reasonOf({ status, body }: RuntimeAnswer): Reason {
  const problem = body !== undefined && isJsonObject(body) ? body : {};
  const { errorCode, code, detail, title, errors } = problem;
  const found = errorsOf(errors);
  const more = found.length - mostErrors;
  return {
    code: textOf(errorCode) ?? textOf(code) ?? `Http:${status}`,
    message: textOf(detail) ?? textOf(title) ?? `The runtime answered ${status}.`,
    ...(found.length === 0
      ? {}
      : {
          errors: [
            ...found.slice(0, mostErrors),
            ...(more > 0 ? [{ path: "", message: `${more} more are not listed.` }] : []),
          ],
        }),
  };
}

export const errorsOf = (errors: JsonValue | undefined): { path: string; message: string }[] =>
  errors === undefined || !isJsonObject(errors)
    ? []
    : Object.entries(errors).flatMap(([path, messages]) =>
        (Array.isArray(messages) ? messages : [])
          .filter((message) => typeof message === "string")
          .map((message) => ({ path, message })),
      );

const textOf = (value: JsonValue | undefined): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;
