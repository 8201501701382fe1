import { catalogue } from "./problem.ts";

/** One row per refusal the service can answer with; `docs/errors.md` has a heading for each code. */
export const problems = catalogue({
  // App — the request as a whole
  componentInvalid: {
    status: 400,
    prefix: "validation",
    code: "App:900006",
    title: "Bad Request",
    detail: (f: { kind: string; count: number }) =>
      `Validation failed for component type '${f.kind}': ${f.count} ${f.count === 1 ? "mistake" : "mistakes"}, listed in 'errors' by path. Nothing was stored.`,
  },

  // Instance
  wrongDomain: {
    status: 400,
    prefix: "validation",
    code: "Instance:100001",
    title: "Bad Request",
    detail: (f: { domain: string; served: string }) =>
      `This runtime serves the domain '${f.served}', not '${f.domain}'. Send the request to the runtime of that domain, or start with MILLRACE_DOMAIN empty to serve every domain.`,
  },
  versionAlreadyPublished: {
    status: 409,
    prefix: "conflict",
    code: "Instance:100002",
    title: "Conflict",
    detail: (f: { domain: string; flow: string; key: string; version: string }) =>
      `${f.flow} '${f.key}' of domain '${f.domain}' has version ${f.version} already. Publish a new version.`,
  },
  instanceNotFound: {
    status: 404,
    prefix: "notfound",
    code: "Instance:100013",
    title: "Not Found",
    detail: (f: {
      domain: string;
      workflow: string;
      instance: string;
      version?: string | undefined;
    }) =>
      `No instance '${f.instance}'${f.version === undefined ? "" : ` with version '${f.version}'`} in workflow '${f.workflow}' of domain '${f.domain}'. Give an id or a business key that exists.`,
  },

  // Cache — definitions
  componentNotFound: {
    status: 404,
    prefix: "notfound",
    code: "Cache:300001",
    title: "Not Found",
    detail: (f: { domain: string; flow: string; key: string; version?: string | undefined }) =>
      `No component '${f.key}'${f.version === undefined ? "" : ` with version '${f.version}'`} in ${f.flow} of domain '${f.domain}'. Publish it first, or correct the key or version.`,
  },
});
