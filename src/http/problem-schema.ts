/** The shape of every refusal, for the API document. `problem-response.ts` writes it. */
const text = { type: "string" } as const;

export const ProblemOutput = {
  $id: "Problem",
  type: "object",
  required: [
    "type",
    "title",
    "status",
    "detail",
    "instance",
    "errorCode",
    "prefix",
    "code",
    "traceId",
  ],
  properties: {
    type: { ...text, description: "<base>/<status>/<prefix>/<Module>/<number>" },
    title: text,
    status: { type: "integer" },
    detail: { ...text, description: "for people; programs read `code`" },
    instance: { ...text, description: "path of the request" },
    errors: {
      type: "object",
      additionalProperties: { type: "array", items: text },
      description: "messages by path; always there when prefix is `validation`",
    },
    errorCode: { ...text, examples: ["validation.App:900006"] },
    prefix: { ...text, examples: ["validation"] },
    code: { ...text, examples: ["App:900006"] },
    traceId: { ...text, description: "W3C traceparent of the request" },
    target: { ...text, description: "the key, id or field at fault" },
  },
} as const;
