import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { problems } from "../src/engine/problems.ts";

const rows = Object.values(problems).map(({ row }) => row);
const page = readFileSync(new URL("../docs/errors.md", import.meta.url), "utf8");
const entries = new Map(
  page
    .split(/^### /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf("\n")), text] as const),
);

test("docs/errors.md has a heading for every code of the catalogue and for nothing else", () => {
  const codes = rows.map(({ prefix, code }) => `${prefix}.${code}`);

  expect([...entries.keys()].toSorted()).toEqual([...new Set(codes)].toSorted());
});

test.each(rows.map((row) => [`${row.prefix}.${row.code}`, row.status] as const))(
  "%s is documented with its status %d, a cause and a remedy",
  (errorCode, status) => {
    const entry = entries.get(errorCode);

    expect(entry).toMatch(new RegExp(String.raw`^- Status: ${status}$`, "m"));
    expect(entry).toMatch(/^- Cause: .{10,}$/m);
    expect(entry).toMatch(/^- Remedy: .{10,}$/m);
  },
);

test("no code stands for two different refusals", () => {
  const codes = rows.map(({ prefix, code }) => `${prefix}.${code}`);

  expect(codes).toEqual([...new Set(codes)]);
});
