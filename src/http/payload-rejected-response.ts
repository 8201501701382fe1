import type { FastifyReply } from "fastify";
import type { PayloadRejected } from "../engine/payload-rejected.ts";

/**
 * A payload that its schema rejects has a body of its own in the specification:
 * `{ error: { validationErrors: [ { members, message } ] } }`, members being instance paths.
 */
export function sendPayloadRejected(rejected: PayloadRejected, reply: FastifyReply): FastifyReply {
  const { errors, target, message } = rejected;
  const body = {
    error: {
      prefix: "validation",
      code: "App:900002",
      message,
      target,
      validationErrors: errors.map((e) => ({ message: e.message, members: [e.path] })),
      data: {
        validation: {
          errors: errors.map(({ path, keyword, message: text, schemaPath }) => ({
            path,
            keyword,
            code: `schema.${keyword}`,
            message: text,
            schemaPath,
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
