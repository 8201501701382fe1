/** The shape of every refusal, for the API document. `problem-response.ts` writes it. */
import { Type } from "typebox";

export const ProblemOutput = Type.Object(
  {
    type: Type.String({ description: "<base>/<status>/<prefix>/<Module>/<number>" }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String({ description: "for people; programs read `code`" }),
    instance: Type.String({ description: "path of the request" }),
    errors: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.String()), {
        description: "messages by path; always there when prefix is `validation`",
      }),
    ),
    errorCode: Type.String({ examples: ["validation.App:900006"] }),
    prefix: Type.String({ examples: ["validation"] }),
    code: Type.String({ examples: ["App:900006"] }),
    traceId: Type.String({ description: "W3C traceparent of the request" }),
    target: Type.Optional(Type.String({ description: "the key, id or field at fault" })),
  },
  { $id: "Problem" },
);
