/** A stand-in for the Dapr sidecar: keeps what it is asked, and answers what the test says. */
import { aWebServerForFile, type Asked } from "./a-web-server.ts";

export interface SidecarAnswer {
  status?: number;
  headers?: Record<string, string>;
  /** JSON. */
  body?: string;
}

export interface TestSidecar {
  url: string;
  /** The latest last; `url` is the path with the query, as it came over the wire. */
  calls: readonly Asked[];
  /** For the next call; 204 without content unless given. */
  answerWith(answer: SidecarAnswer): void;
}

/** Called at the top of a file; closes with the file's tests. */
export async function startSidecar(): Promise<TestSidecar> {
  const answers: SidecarAnswer[] = [];
  const { url, asked } = await aWebServerForFile((_request, _message, response) => {
    const { status = 200, headers, body } = answers.shift() ?? { status: 204 };
    const content = body === undefined ? {} : { "content-type": "application/json" };
    response.writeHead(status, { ...content, ...headers });
    response.end(body);
  });
  return { url, calls: asked, answerWith: (answer) => void answers.push(answer) };
}
