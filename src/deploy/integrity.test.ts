import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { checkIntegrity } from "./integrity.ts";

const archive = Buffer.from("an archive");
const sri = (algorithm: string, of = archive) =>
  `${algorithm}-${createHash(algorithm).update(of).digest("base64")}`;
const shasum = createHash("sha1").update(archive).digest("hex");
const other = Buffer.from("another");

test.each([
  ["sha512", { integrity: sri("sha512") }, false],
  ["sha256", { integrity: sri("sha256") }, false],
  ["one of two", { integrity: `${sri("sha512", other)} ${sri("sha512")}` }, false],
  [
    "the strongest, whatever the weaker say",
    { integrity: `${sri("sha1", other)} ${sri("sha512")}` },
    false,
  ],
  ["sha1 as integrity, when allowed", { integrity: sri("sha1") }, true],
  ["shasum, when allowed", { shasum }, true],
  ["shasum in capitals, when allowed", { shasum: shasum.toUpperCase() }, true],
])("an archive fits its %s", (_name, announced, allowSha1) => {
  expect(() => checkIntegrity(archive, announced, allowSha1)).not.toThrow();
});

test.each([
  ["a wrong sha512", { integrity: sri("sha512", other) }, true, "IntegrityMismatch"],
  [
    "a wrong sha512 beside a right sha1",
    { integrity: sri("sha512", other), shasum },
    true,
    "IntegrityMismatch",
  ],
  ["a wrong shasum", { shasum: "0".repeat(40) }, true, "IntegrityMismatch"],
  ["shasum only", { shasum }, false, "IntegrityMissing"],
  ["sha1 as integrity", { integrity: sri("sha1") }, false, "IntegrityMissing"],
  ["nothing", {}, true, "IntegrityMissing"],
  ["gibberish", { integrity: "md5-x sha9-y nothing" }, true, "IntegrityMissing"],
])("an archive with %s is refused", (_name, announced, allowSha1, code) => {
  expect(() => checkIntegrity(archive, announced, allowSha1)).toThrow(
    expect.objectContaining({ code }),
  );
});
