/**
 * Fetches packages from an npm registry: the package's data, the version that is meant, its archive.
 *
 * Both requests go through the one HTTP client, so addresses, redirects, sizes and times are under
 * its rules. Credentials go to the registry's own origin and nowhere else. Nothing is installed.
 */
import type { HttpClient, OutgoingResponse } from "../outgoing/http-client.ts";
import { OutgoingFailed } from "../outgoing/http-client.ts";
import { isNested } from "../engine/exact-json.ts";
import { DeployFailed, type DeployFailureCode } from "./deploy-failure.ts";
import { checkIntegrity } from "./integrity.ts";
import type { PackageSpec } from "./package-spec.ts";
import { pickVersion } from "./pick-version.ts";

/** Kept in memory for one job, and never written anywhere. */
export interface RegistryCredentials {
  authorization: string;
  /** What must not be seen in any text. */
  secrets: readonly string[];
}

export interface RegistrySource {
  url: string;
  /** The operator chose it, so private addresses are no reason to refuse it. */
  isConfigured: boolean;
  credentials: RegistryCredentials | undefined;
}

export interface DownloadLimits {
  archiveBytes: number;
  timeoutMs: number;
  allowSha1: boolean;
}

export interface FetchedPackage {
  name: string;
  version: string;
  archive: Uint8Array;
}

/** The public registry names itself in every archive's address, also when it is asked through a mirror. */
const publicOrigin = "https://registry.npmjs.org";

export async function fetchPackage(
  http: HttpClient,
  spec: PackageSpec,
  source: RegistrySource,
  limits: DownloadLimits,
  signal?: AbortSignal,
): Promise<FetchedPackage> {
  const base = source.url.replace(/\/*$/, "/");
  const ask = async (url: string, accept: string, what: string) => {
    const isOwn = originOf(url) === originOf(base);
    const { credentials } = source;
    try {
      const answer = await http.send({
        url,
        method: "GET",
        headers: {
          accept,
          ...(isOwn && credentials !== undefined
            ? { authorization: credentials.authorization }
            : {}),
        },
        timeoutMs: limits.timeoutMs,
        maxBytes: limits.archiveBytes,
        isConfigured: isOwn && source.isConfigured,
        signal,
      });
      refuseStatus(answer, what, spec, credentials !== undefined);
      return answer;
    } catch (error) {
      throw signal?.aborted === true ? error : asDeployFailure(error, what);
    }
  };

  const listing = await ask(
    base + spec.escapedName,
    "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8",
    `The data of the package '${spec.name}'`,
  );
  const chosen = chooseVersion(listing, spec);
  const archive = await ask(
    archiveUrl(chosen.tarball, base),
    "application/octet-stream",
    `The archive of ${spec.name} ${chosen.version}`,
  );
  checkIntegrity(archive.body, chosen, limits.allowSha1);
  return { name: spec.name, version: chosen.version, archive: archive.body };
}

interface Chosen {
  version: string;
  tarball: string;
  integrity: string | undefined;
  shasum: string | undefined;
}

type Members = Record<string, unknown>;

/** Ten times as many as any package of the public registry has; finding the best of millions takes long. */
const mostVersions = 100_000;

function chooseVersion(listing: OutgoingResponse, spec: PackageSpec): Chosen {
  const packument = membersOf(parsed(listing, spec));
  const versions = membersOf(packument["versions"]);
  if (Object.keys(versions).length > mostVersions) {
    throw notPackageData(spec, `it names more than ${mostVersions} versions`);
  }
  const tags = membersOf(packument["dist-tags"]);
  const version = pickVersion(
    {
      tags: Object.fromEntries(
        Object.entries(tags).filter((tag): tag is [string, string] => typeof tag[1] === "string"),
      ),
      versions: Object.keys(versions),
      deprecated: new Set(
        Object.keys(versions).filter((name) => Boolean(membersOf(versions[name])["deprecated"])),
      ),
    },
    spec.wanted,
  );
  if (version === undefined) {
    throw new DeployFailed(
      "VersionNotFound",
      `The package '${spec.name}' has nothing that fits '${spec.wanted}'. It has the versions ${someOf(Object.keys(versions))} and the tags ${someOf(Object.keys(tags))}.`,
    );
  }
  const dist = membersOf(membersOf(versions[version])["dist"]);
  const { tarball, integrity, shasum } = dist;
  if (typeof tarball !== "string" || !/^https?:\/\//i.test(tarball) || !URL.canParse(tarball)) {
    throw notPackageData(spec, "it names no address of the archive");
  }
  return { version, tarball, integrity: textOf(integrity), shasum: textOf(shasum) };
}

/** Manifests have what their authors put into them, so there is some room. */
const deepestListing = 512;

function parsed(listing: OutgoingResponse, spec: PackageSpec): unknown {
  const text = Buffer.from(listing.body).toString("utf8");
  if (isNested(text, deepestListing)) throw notPackageData(spec, "it is nested too deeply");
  try {
    return JSON.parse(text);
  } catch (cause) {
    const type = /^[\w.+-]+\/[\w.+-]+/.exec(listing.headers["content-type"] ?? "")?.[0];
    throw notPackageData(spec, `it is ${type ?? "not JSON"}`, cause);
  }
}

const notPackageData = (spec: PackageSpec, why: string, cause?: unknown) =>
  new DeployFailed(
    "RegistryFailed",
    `What the registry says about '${spec.name}' is no package data: ${why}. Check that npmRegistry is the address of an npm registry.`,
    { cause },
  );

/** As npm does it: a mirror of the public registry has the archive under its own address. */
function archiveUrl(tarball: string, base: string): string {
  if (originOf(tarball) !== publicOrigin || originOf(base) === publicOrigin) return tarball;
  const { pathname } = new URL(tarball);
  return base + pathname.replace(/^\/+/, "");
}

const originOf = (url: string): string => new URL(url).origin;

function refuseStatus(
  { status }: OutgoingResponse,
  what: string,
  spec: PackageSpec,
  hadCredentials: boolean,
): void {
  if (status === 200) return;
  if (status === 401 || status === 403) {
    throw new DeployFailed(
      "RegistryUnauthorized",
      `${what} is refused by the registry with ${status}. ${hadCredentials ? "Check the credentials and what they may read." : "Give npmToken, or npmUsername and npmPassword."}`,
    );
  }
  if (status === 404) {
    throw new DeployFailed(
      "PackageNotFound",
      `${what} is not in the registry (404). Check packageName '${spec.name}' and npmRegistry; a private package also hides from those without credentials.`,
    );
  }
  throw new DeployFailed(
    "RegistryFailed",
    `${what} is answered by the registry with ${status}. Try again later, or check npmRegistry.`,
  );
}

const codes: Record<OutgoingFailed["reason"], DeployFailureCode> = {
  refused: "AddressRefused",
  badRequest: "RegistryFailed",
  resolution: "RegistryUnreachable",
  connection: "RegistryUnreachable",
  tls: "RegistryUnreachable",
  timeout: "DownloadTimeout",
  cancelled: "RegistryUnreachable",
  tooLarge: "DownloadTooLarge",
  badAnswer: "RegistryFailed",
};

const remedies: Partial<Record<DeployFailureCode, string>> = {
  DownloadTooLarge: " Make the package smaller, or raise Deploy.ArchiveLimitBytes.",
  DownloadTimeout: " Try again, or raise Deploy.DownloadTimeoutSeconds.",
};

function asDeployFailure(error: unknown, what: string): unknown {
  if (!(error instanceof OutgoingFailed)) return error;
  const code = codes[error.reason];
  const remedy = remedies[code] ?? "";
  return new DeployFailed(code, `${what} could not be fetched: ${error.message}${remedy}`, {
    cause: error,
  });
}

const membersOf = (value: unknown): Members =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : {};

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

const mostNamed = 10;

/** The newest come last in a registry's answer. */
function someOf(names: readonly string[]): string {
  if (names.length === 0) return "none";
  const shown = names.slice(-mostNamed).map((name) => name.slice(0, 60));
  return `${names.length > mostNamed ? "…, " : ""}${shown.join(", ")}`;
}
