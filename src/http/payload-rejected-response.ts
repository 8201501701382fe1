import type { FastifyReply, FastifyRequest } from "fastify";
import { sayWords } from "../engine/json-schema/words.ts";
import type { PayloadRejected } from "../engine/payload-rejected.ts";
import { languagesIn } from "../engine/pick-label.ts";

/**
 * A payload that its schema rejects has a body of its own in the specification:
 * `{ error: { validationErrors: [ { members, message } ] } }`, members being instance paths. Where the
 * schema's author has words for a mistake, the caller reads them in their language.
 */
export function sendPayloadRejected(
  rejected: PayloadRejected,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { target, message } = rejected;
  const language = request.headers["accept-language"];
  const errors = rejected.errors.map(({ words, ...error }) => {
    const said = sayWords(words, language);
    return { ...error, message: said.message ?? error.message, label: said.label };
  });
  const body = {
    error: {
      prefix: "validation",
      code: "App:900002",
      message,
      target,
      validationErrors: errors.map((e) => ({ message: e.message, members: [e.path] })),
      data: {
        validation: {
          culture: cultureOf(language),
          errors: errors.map(({ path, keyword, message: text, label, schemaPath, parameters }) => ({
            path,
            keyword,
            code: `schema.${keyword}`,
            message: text,
            label,
            schemaPath,
            parameters: parameters ?? {},
          })),
        },
      },
    },
  };
  return reply
    .code(400)
    .header("_aether_error_format", "true")
    .header("content-type", "application/json; charset=utf-8")
    .send(JSON.stringify(body));
}

/** The language that was asked for, as such names are written: `de-AT`. */
const cultureOf = (acceptLanguage: string | undefined): string => {
  const [first = "en"] = languagesIn(acceptLanguage);
  return first.replace(/-([a-z]{2})$/, (_, region: string) => `-${region.toUpperCase()}`);
};
