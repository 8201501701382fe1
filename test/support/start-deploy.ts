/** The runtime and the deployment API in this process, and a small client for the latter. */
import { expect } from "vitest";
import type { PublishJob } from "../../src/deploy/publish-job.ts";
import { eventually } from "./eventually.ts";
import {
  startRuntime,
  startRuntimeForFile,
  type Answer,
  type StartOptions,
  type TestRuntime,
} from "./start-runtime.ts";

/** As JSON has it. */
export type JobBody = Omit<PublishJob, "cancelledAt" | "createdAt" | "updatedAt"> &
  Record<"createdAt" | "updatedAt", string> & { cancelledAt: string | null };

export interface TestDeploy {
  runtime: TestRuntime;
  url: string;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Anything but 202 fails the test; answers the job's id. */
  submit(body: object, path?: string): Promise<string>;
  job(jobId: string): Promise<JobBody>;
  ended(jobId: string): Promise<JobBody>;
  /** Publishes a package and waits for its end. */
  deploy(body: object, path?: string): Promise<JobBody>;
}

export const packagePath = "/api/package/publish";

const withDeploy = (options: StartOptions): StartOptions => ({
  roles: ["api", "deploy"],
  ...options,
  settings: { "Egress.Allow": ["loopback"], ...options.settings },
});

export async function startDeploy(options: StartOptions = {}): Promise<TestDeploy> {
  return clientOf(await startRuntime(withDeploy(options)));
}

export async function startDeployForFile(options: StartOptions = {}): Promise<TestDeploy> {
  return clientOf(await startRuntimeForFile(withDeploy(options)));
}

function clientOf(runtime: TestRuntime): TestDeploy {
  const url = runtime.deployUrl;
  const { get, post } = deployClient(url);
  const submit: TestDeploy["submit"] = async (body, path = packagePath) => {
    const answer = await post(path, body);
    expect(answer).toMatchObject({ status: 202 });
    return (answer.body as { jobId: string }).jobId;
  };
  const job: TestDeploy["job"] = async (jobId) => {
    const answer = await get(`${packagePath}/status/${jobId}`);
    expect(answer.status).toBe(200);
    return answer.body as JobBody;
  };
  const ended: TestDeploy["ended"] = (jobId) =>
    eventually(async () => {
      const found = await job(jobId);
      expect(["completed", "failed", "cancelled"]).toContain(found.status);
      return found;
    });
  return {
    runtime,
    url,
    get,
    post,
    submit,
    job,
    ended,
    deploy: async (body, path) => ended(await submit(body, path)),
  };
}

/** Requests to a deployment API at any address. */
export function deployClient(url: string): Pick<TestDeploy, "get" | "post"> {
  const send = async (path: string, init: RequestInit): Promise<Answer> => {
    const answer = await fetch(url + path, init);
    const text = await answer.text();
    const headers = Object.fromEntries(answer.headers);
    const isJson = headers["content-type"]?.includes("json") === true && text !== "";
    const body: unknown = isJson ? JSON.parse(text) : text === "" ? undefined : text;
    return { status: answer.status, headers, body, text };
  };
  return {
    get: (path, headers = {}) => send(path, { headers }),
    post: (path, body, headers = {}) =>
      send(path, {
        method: "POST",
        headers: {
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined
          ? {}
          : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
  };
}
