/** A server on loopback that answers as the address says: `/503,503,200/a` fails twice, then works. */
import { aWebServerForFile } from "./a-web-server.ts";
import { aComponent } from "./a-workflow.ts";

export interface FailingServer {
  /** A task that calls it; the statuses come one after the other, the last for ever. */
  task(key: string, ...statuses: number[]): object;
  /** How often the task called, over all instances. */
  calls(key: string): number;
  /** The idempotency keys it sent. */
  keysOf(key: string): unknown[];
}

export async function aFailingServerForFile(): Promise<FailingServer> {
  const counts = new Map<string, number>();
  const server = await aWebServerForFile(({ url }, _request, response) => {
    const [, list = "", key = ""] = url.split("/");
    const statuses = list.split(",").map(Number);
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    const status = statuses[Math.min(count, statuses.length - 1)] ?? 200;
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ [`from-${key}`]: count + 1 }));
  });
  const asked = (key: string) => server.asked.filter(({ url }) => url.endsWith(`/${key}`));
  return {
    task: (key, ...statuses) =>
      aComponent("sys-tasks", key, {
        type: "6",
        config: { url: `${server.url}/${statuses.join(",")}/${key}`, method: "POST" },
      }),
    calls: (key) => asked(key).length,
    keysOf: (key) => asked(key).map(({ headers }) => headers["idempotency-key"]),
  };
}
