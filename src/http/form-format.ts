/** `application/x-www-form-urlencoded` bodies, on the routes that say so. */
import { FormError, parseForm } from "../engine/form-body.ts";
import { problems } from "../engine/problems.ts";
import type { BodyFormat } from "./body-formats.ts";
import { payloadModeOf } from "./instance-request.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route takes forms: as an envelope or data by payload mode, or as plain data. */
    formBody?: "envelope" | "data";
  }
}

const mediaType = "application/x-www-form-urlencoded";

export const formFormat: BodyFormat = {
  name: mediaType,
  contentTypes: [mediaType],
  parse(body, _limits, request) {
    const { formBody } = request.routeOptions.config;
    if (formBody === undefined) {
      throw problems.contentTypeNotSupported({
        given: `content type '${mediaType}'`,
        supported: "application/json",
      });
    }
    try {
      return parseForm(body, { envelope: formBody === "envelope", header: payloadModeOf(request) });
    } catch (error) {
      if (!(error instanceof FormError)) throw error;
      const errors = { [error.path === "" ? "body" : error.path]: [error.message] };
      throw problems.requestInvalid({ part: "form body", count: 1 }, { errors });
    }
  },
};
