/** What a caller asks for: the body of a publish request, checked and with its defaults (pure). */
import type { ErrorsByPath } from "../engine/problem.ts";
import { problems } from "../engine/problems.ts";
import type { PackageKind } from "./package-contents.ts";
import type { RegistrySource } from "./package-registry.ts";
import { packageSpec, type PackageSpec } from "./package-spec.ts";

/** Types have been checked; null is the same as absent. */
export interface PublishBody {
  packageName?: string | null;
  version?: string | null;
  replaceDomain?: boolean | null;
  appDomain?: string | null;
  npmRegistry?: string | null;
  npmToken?: string | null;
  npmUsername?: string | null;
  npmPassword?: string | null;
  /** Part of the interface; the registry protocol itself has no place for it. */
  npmEmail?: string | null;
  reInitialize?: boolean | null;
}

export interface PublishRequest {
  kind: PackageKind;
  spec: PackageSpec;
  /** The domain everything moves to; undefined: components keep theirs. */
  domain: string | undefined;
  reInitialize: boolean;
  registry: RegistrySource;
  /** In whose name the runtime is asked; in memory only, like the registry's credentials. */
  identity?: Readonly<Record<string, string>>;
}

export interface RequestDefaults {
  registry: string;
}

const domainAlphabet = /^[a-zA-Z-]{1,50}$/;

/** Throws a problem that names every field that cannot be used. */
export function readPublishRequest(
  body: PublishBody,
  kind: PackageKind,
  defaults: RequestDefaults,
): PublishRequest {
  const errors: ErrorsByPath = {};
  const wrong = (field: keyof PublishBody, message: string) => {
    errors[field] = [message];
  };

  const name = body.packageName?.trim() ?? "";
  const found = packageSpec(name, body.version?.trim() || "latest");
  if (name === "") wrong("packageName", "is required");
  else if ("field" in found) wrong(found.field, found.message);

  const appDomain = body.appDomain?.trim();
  const replaces = kind === "runtime" || body.replaceDomain === true;
  if (kind === "runtime" && (appDomain ?? "") === "") wrong("appDomain", "is required");
  else if (replaces && appDomain !== undefined && !domainAlphabet.test(appDomain)) {
    wrong("appDomain", "must be 1 to 50 letters and hyphens");
  }

  const url = body.npmRegistry?.trim() || defaults.registry;
  if (!isRegistryAddress(url)) {
    wrong(
      "npmRegistry",
      `must be an http or https address of at most ${longestAddress} characters, without user, password and query`,
    );
  }
  const token = body.npmToken ?? "";
  const user = body.npmUsername ?? "";
  const password = body.npmPassword ?? "";
  if (!isHeaderSafe(token)) wrong("npmToken", "must be one line of visible characters");
  if (token === "" && user !== "" && password === "") {
    wrong("npmPassword", "is required with npmUsername");
  }
  if (token === "" && user === "" && password !== "") {
    wrong("npmUsername", "is required with npmPassword");
  }

  const count = Object.keys(errors).length;
  if (count > 0 || !("spec" in found)) {
    throw problems.requestInvalid({ part: "body", count }, { errors });
  }
  return {
    kind,
    spec: found.spec,
    // Specification, "Domain replacement rules" 1: without a domain nothing is replaced.
    domain: replaces ? appDomain : undefined,
    reInitialize: body.reInitialize === true,
    registry: {
      url,
      isConfigured: sameRegistry(url, defaults.registry),
      credentials: credentialsOf(token, user, password),
    },
  };
}

const longestAddress = 2000;

function isRegistryAddress(url: string): boolean {
  if (url.length > longestAddress) return false;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return false;
  const { username, password, search, hash } = new URL(url);
  return username === "" && password === "" && search === "" && hash === "";
}

const isHeaderSafe = (text: string) => /^[\x21-\x7e]*$/.test(text);

const sameRegistry = (a: string, b: string) => a.replace(/\/+$/, "") === b.replace(/\/+$/, "");

function credentialsOf(
  token: string,
  user: string,
  password: string,
): RegistrySource["credentials"] {
  if (token !== "") return { authorization: `Bearer ${token}`, secrets: [token] };
  if (user === "") return undefined;
  const pair = Buffer.from(`${user}:${password}`).toString("base64");
  const alone = Buffer.from(password).toString("base64");
  return { authorization: `Basic ${pair}`, secrets: [pair, alone, password] };
}
