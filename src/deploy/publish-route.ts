/** One component by way of the deployment API: passed on to the runtime, its answer passed back. */
import type { HttpServer } from "../http/create-server.ts";
import { problems } from "../engine/problems.ts";
import { OutgoingFailed } from "../outgoing/http-client.ts";
import { identityOf } from "./caller-identity.ts";
import { Type } from "../http/schema.ts";
import type { RuntimeClient } from "./runtime-client.ts";

export function addPublishRoute(app: HttpServer, runtime: () => RuntimeClient): void {
  app.post(
    "/api/v1/definitions/publish",
    {
      // The runtime checks it, and says what it says.
      config: { checksBodyItself: true },
      schema: {
        summary: "Publish one component; the same body and answers as the runtime's",
        tags: ["definitions"],
        body: Type.Object({}, { additionalProperties: true }),
      },
    },
    async (request, reply) => {
      try {
        const body = request.rawBody ?? new Uint8Array();
        const answer = await runtime().forwardPublish(body, identityOf(request));
        return await reply
          .status(answer.status)
          .header("content-type", answer.contentType)
          .send(Buffer.from(answer.body));
      } catch (cause) {
        if (!(cause instanceof OutgoingFailed)) throw cause;
        throw problems.runtimeAway({}, { cause });
      }
    },
  );
}
