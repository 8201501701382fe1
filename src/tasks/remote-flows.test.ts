import { expect, test } from "vitest";
import type { OutgoingRequest } from "../outgoing/http-client.ts";
import { remoteFlows } from "./remote-flows.ts";

test.each([
  ["cards", "k-1", "/api/v1/cards/workflows/limit/instances/k-1"],
  ["cards", "a/b?c", "/api/v1/cards/workflows/limit/instances/a%2Fb%3Fc"],
  // As they are, these would list the instances, or ask for something above them.
  ["cards", ".", "/api/v1/cards/workflows/limit/instances/%252E"],
  ["cards", "..", "/api/v1/cards/workflows/limit/instances/%252E%252E"],
])("in the domain %s the instance %j is asked for as one", async (domain, instance, path) => {
  const sent: OutgoingRequest[] = [];
  const send = async (request: OutgoingRequest) => {
    sent.push(request);
    const body = new TextEncoder().encode("{}");
    return { status: 200, statusText: "OK", headers: {}, body, url: request.url };
  };
  const flows = remoteFlows({ send }, new Map([["cards", "https://cards.example/"]]))(domain);

  await flows?.getInstance({
    domain,
    workflow: "limit",
    instance,
    extensions: [],
    headers: {},
    traceId: undefined,
    executionKey: "e",
    triggerDepth: 1,
    validateTls: true,
    timeoutMs: 1000,
    signal: new AbortController().signal,
  });

  expect(sent.map(({ url }) => new URL(url).pathname)).toEqual([path]);
});
