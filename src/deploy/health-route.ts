/** `/health` of the deployment API: it can do its work when the runtime can. */
import type { HttpServer } from "../http/create-server.ts";
import { OutgoingFailed } from "../outgoing/http-client.ts";
import { StorageUnavailable } from "../engine/storage-unavailable.ts";
import { Type } from "../http/schema.ts";
import type { RuntimeClient } from "./runtime-client.ts";

const HealthAnswer = Type.Object({
  status: Type.Enum(["healthy", "unhealthy"]),
  vnextApp: Type.Enum(["healthy", "unhealthy", "unreachable"], { description: "the runtime" }),
  timestamp: Type.String({ format: "date-time" }),
});

export function addDeployHealth(
  app: HttpServer,
  runtime: () => RuntimeClient,
  now: () => Date = () => new Date(),
): void {
  const response = { 200: HealthAnswer, 503: HealthAnswer };
  const schema = { summary: "Health", tags: ["operations"], response };
  app.get("/health", { config: { quiet: true }, schema }, async (_request, reply) => {
    const vnextApp = await lookAt(runtime);
    const status = vnextApp === "healthy" ? "healthy" : "unhealthy";
    return reply
      .status(status === "healthy" ? 200 : 503)
      .header("cache-control", "no-store")
      .send({ status, vnextApp, timestamp: now().toISOString() });
  });
}

async function lookAt(
  runtime: () => RuntimeClient,
): Promise<"healthy" | "unhealthy" | "unreachable"> {
  try {
    return (await runtime().isHealthy()) ? "healthy" : "unhealthy";
  } catch (error) {
    if (error instanceof StorageUnavailable) return "unhealthy";
    if (error instanceof OutgoingFailed) return "unreachable";
    throw error;
  }
}
