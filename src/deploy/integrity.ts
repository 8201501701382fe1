/** Is the archive the one that the registry announced? */
import { createHash } from "node:crypto";
import { DeployFailed } from "./deploy-failure.ts";

/** `dist` of a version in the registry's answer. */
export interface Announced {
  integrity?: string | undefined;
  /** SHA-1 in hexadecimal; all that registries had before 2017. */
  shasum?: string | undefined;
}

const strongest = ["sha512", "sha384", "sha256"] as const;

/** Throws unless the strongest announced hash fits. SHA-1 can be forged: it counts only when allowed. */
export function checkIntegrity(
  archive: Uint8Array,
  announced: Announced,
  allowSha1: boolean,
): void {
  const hashes = (announced.integrity ?? "").split(/\s+/).flatMap((entry) => {
    const [, algorithm, digest] = /^(sha\d+)-([A-Za-z0-9+/]+=*)(?:\?.*)?$/.exec(entry) ?? [];
    return algorithm === undefined || digest === undefined ? [] : [{ algorithm, digest }];
  });
  for (const algorithm of strongest) {
    const digests = hashes.filter((hash) => hash.algorithm === algorithm);
    if (digests.length === 0) continue;
    const actual = createHash(algorithm).update(archive).digest("base64");
    if (digests.some(({ digest }) => digest === actual)) return;
    throw mismatch(algorithm);
  }
  const sha1 = [
    ...hashes.filter(({ algorithm }) => algorithm === "sha1").map(({ digest }) => hexOf(digest)),
    ...(announced.shasum === undefined ? [] : [announced.shasum.toLowerCase()]),
  ];
  if (sha1.length === 0 || !allowSha1) {
    throw new DeployFailed(
      "IntegrityMissing",
      `The registry announces ${sha1.length === 0 ? "no hash" : "only a SHA-1 hash"} of the archive. Publish the package with a client that adds sha512${sha1.length === 0 ? "" : ", or set Deploy.AllowSha1"}.`,
    );
  }
  const actual = createHash("sha1").update(archive).digest("hex");
  if (!sha1.includes(actual)) throw mismatch("sha1");
}

const hexOf = (base64: string) => Buffer.from(base64, "base64").toString("hex");

const mismatch = (algorithm: string) =>
  new DeployFailed(
    "IntegrityMismatch",
    `The archive's ${algorithm} hash is not the one that the registry announces: it was damaged or changed on the way. Nothing of it was used.`,
  );
