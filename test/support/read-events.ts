/** Reads a stream of Server-Sent Events as it comes in. */
import { onTestFinished } from "vitest";
import { request, Agent } from "undici";
import type { TestRuntime } from "./start-runtime.ts";

export interface ReceivedEvent {
  name: string;
  id: string | undefined;
  data: Record<string, unknown>;
}

export interface EventReader {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** Waits for the next event; undefined when the stream has ended. */
  next(): Promise<ReceivedEvent | undefined>;
  /** Everything up to the end of the stream. */
  rest(): Promise<ReceivedEvent[]>;
  /** Heartbeats received so far. */
  readonly comments: number;
  close(): void;
}

export async function readEvents(
  app: Pick<TestRuntime, "url">,
  path: string,
  headers: Record<string, string> = {},
): Promise<EventReader> {
  const agent = new Agent();
  const leaving = new AbortController();
  onTestFinished(() => agent.destroy());
  const { signal } = leaving;
  const answer = await request(app.url + path, { dispatcher: agent, headers, signal });
  let comments = 0;
  const blocks = blocksOf(answer.body);
  const next = async (): Promise<ReceivedEvent | undefined> => {
    for (;;) {
      const { value, done } = await blocks.next();
      if (done === true) return undefined;
      const event = eventIn(value);
      if (event !== undefined) return event;
      if (value.startsWith(":")) comments += 1;
    }
  };
  return {
    status: answer.statusCode,
    headers: answer.headers,
    next,
    async rest() {
      const events: ReceivedEvent[] = [];
      for (let event = await next(); event !== undefined; event = await next()) events.push(event);
      return events;
    },
    get comments() {
      return comments;
    },
    close: () => leaving.abort(),
  };
}

async function* blocksOf(body: AsyncIterable<Buffer>): AsyncGenerator<string, undefined> {
  let text = "";
  for await (const chunk of body) {
    text += chunk.toString("utf8");
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
      yield text.slice(0, end);
      text = text.slice(end + 2);
    }
  }
  return undefined;
}

function eventIn(block: string): ReceivedEvent | undefined {
  const field = (name: string) =>
    block
      .split("\n")
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2);
  const name = field("event");
  if (name === undefined) return undefined;
  return { name, id: field("id"), data: JSON.parse(field("data") ?? "{}") };
}
