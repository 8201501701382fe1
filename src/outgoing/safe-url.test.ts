import { expect, test } from "vitest";
import { safeUrl } from "./safe-url.ts";

test.each([
  ["https://host/path?page=2#top", "https://host/path?page=2#top"],
  ["https://user:hunter2@host/path", "https://***@host/path"],
  ["https://token@host:8080", "https://***@host:8080"],
  ["https://a@b@host/", "https://***@host/"],
  ["https://host/@name", "https://host/@name"],
  ["https://host/?mail=a@b", "https://host/?mail=a@b"],
  ["user:hunter2@host", "user:***@host"],
  ["https:\\\\user:hunter2@host", "https:\\\\***@host"],
  ["https://host/?api_key=abc&page=2", "https://host/?api_key=***&page=2"],
  ["https://host/?page=2&access_token=abc#x", "https://host/?page=2&access_token=***#x"],
  ["https://host/#token=abc", "https://host/#token=***"],
  ["https://store/blob?sv=1&sig=a%2Fb", "https://store/blob?sv=1&sig=***"],
  [
    "https://store/o?X-Amz-Signature=ff&X-Amz-Date=1",
    "https://store/o?X-Amz-Signature=***&X-Amz-Date=1",
  ],
  ["https://host/?a?token=abc", "https://host/?a?token=***"],
  ["not an address", "not an address"],
  ["", ""],
])("%s is shown as %s", (url, shown) => {
  expect(safeUrl(url)).toBe(shown);
});

test.each(["?", "&", ";", "#", "=", "@", "\\", "?a", "a:"])(
  "a million times %j is read in one go",
  (part) => {
    const url = `https://host/${part.repeat(1_000_000)}`;

    expect(safeUrl(url)).toBe(url);
  },
);
