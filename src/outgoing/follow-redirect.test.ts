import { describe, expect, test } from "vitest";
import { type Hop, redirected } from "./follow-redirect.ts";

const hop = (changes: Partial<Hop> = {}): Hop => ({
  url: new URL("https://api.example.com/orders?page=2"),
  method: "POST",
  headers: {
    Authorization: "Bearer abc",
    "X-Api-Key": "abc",
    sub: "ali",
    "Content-Type": "application/json",
    Accept: "application/json",
    "Idempotency-Key": "k-1",
  },
  body: "{}",
  isConfigured: false,
  ...changes,
});

test.each([200, 300, 304, 305, 306, 404])("%i is no redirect", (status) => {
  expect(redirected(hop(), status, "/elsewhere")).toBeUndefined();
});

test.each([undefined, ""])("a redirect to %o leads nowhere", (location) => {
  expect(redirected(hop(), 302, location)).toBeUndefined();
});

test.each([
  [301, "POST", "GET"],
  [302, "POST", "GET"],
  [303, "POST", "GET"],
  [307, "POST", "POST"],
  [308, "POST", "POST"],
  [301, "PUT", "PUT"],
  [302, "DELETE", "DELETE"],
  [303, "PUT", "GET"],
  [303, "HEAD", "HEAD"],
  [301, "GET", "GET"],
])("%i makes %s a %s", (status, method, then) => {
  const next = redirected(hop({ method }), status, "/elsewhere");

  expect(next).toMatchObject({ method: then });
  expect(next?.body).toBe(method === then ? "{}" : undefined);
  expect(next?.headers["Content-Type"] === undefined).toBe(method !== then);
});

test.each([
  ["/elsewhere", "https://api.example.com/elsewhere"],
  ["next", "https://api.example.com/next"],
  ["?page=3", "https://api.example.com/orders?page=3"],
  ["//other.example.com/x", "https://other.example.com/x"],
  ["https://other.example.com", "https://other.example.com/"],
])("the location %s leads to %s", (location, url) => {
  expect(redirected(hop(), 307, location)?.url.href).toBe(url);
});

describe("what goes along", () => {
  test("is everything while the origin stays", () => {
    expect(redirected(hop(), 307, "/elsewhere")?.headers).toEqual(hop().headers);
  });

  test.each(["https://other.example.com/", "https://api.example.com:8443/"])(
    "to %s is nothing that may be a credential",
    (location) => {
      expect(redirected(hop(), 307, location)?.headers).toEqual({
        "Content-Type": "application/json",
        Accept: "application/json",
        "Idempotency-Key": "k-1",
      });
    },
  );

  test("is the operator's word only while the origin stays", () => {
    const configured = hop({ isConfigured: true });

    expect(redirected(configured, 307, "/elsewhere")?.isConfigured).toBe(true);
    expect(redirected(configured, 307, "https://other.example.com")?.isConfigured).toBe(false);
  });
});

test("an encrypted call does not go on in clear text", () => {
  expect(() => redirected(hop(), 302, "http://api.example.com/")).toThrow(
    /redirects from https to http:\/\/api\.example\.com\//,
  );
});

test("a location that is no address is a bad answer", () => {
  expect(() => redirected(hop(), 302, "http://[::g]/")).toThrow(/which is no address/);
});
