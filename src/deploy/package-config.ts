/**
 * The configuration file of a package: `service.config.json`, or the public system's
 * `vnext.config.json`. It names the package, its version and domain, and the component folders.
 */
import { isNested } from "../engine/exact-json.ts";
import { isVersion } from "../engine/version.ts";
import { DeployFailed } from "./deploy-failure.ts";

export const componentFolders = [
  "mappings",
  "tasks",
  "views",
  "functions",
  "extensions",
  "workflows",
  "schemas",
] as const;
export type ComponentFolder = (typeof componentFolders)[number];

export interface PackageConfig {
  name?: string;
  version: string;
  domain: string;
  paths: Record<ComponentFolder | "componentsRoot", string>;
}

/** The first that is there counts. */
export const configFiles: readonly string[] = ["vnext.config.json", "service.config.json"];

const defaultPaths: PackageConfig["paths"] = {
  componentsRoot: "core",
  mappings: "Mappings",
  tasks: "Tasks",
  views: "Views",
  functions: "Functions",
  extensions: "Extensions",
  workflows: "Workflows",
  schemas: "Schemas",
};

/** `file` is undefined when the package has no configuration file: every default holds then. */
export function readConfigFile(file: { path: string; text: string } | undefined): PackageConfig {
  const given = file === undefined ? {} : parseObject(file.path, file.text);
  const text = (owner: Record<string, unknown>, name: string, otherwise: string): string => {
    const value = owner[name] ?? otherwise;
    if (typeof value === "string" && value.trim() !== "") return value.trim();
    throw invalid(file?.path, `'${name}' must be text`);
  };
  const version = text(given, "version", "1.0.0");
  if (!isVersion(version)) {
    throw invalid(file?.path, `its version '${version}' is not SemVer, such as 1.2.3`);
  }
  const domain = text(given, "domain", "core");
  const paths = (given["paths"] ?? {}) as Record<string, unknown>;
  if (typeof paths !== "object" || Array.isArray(paths)) {
    throw invalid(file?.path, "'paths' must be an object");
  }
  const names = Object.keys(defaultPaths) as (keyof PackageConfig["paths"])[];
  return {
    ...(typeof given["name"] === "string" ? { name: given["name"] } : {}),
    version,
    domain,
    paths: Object.fromEntries(
      names.map((name) => [name, text(paths, name, defaultPaths[name])]),
    ) as PackageConfig["paths"],
  };
}

const deepestFile = 64;

function parseObject(path: string, text: string): Record<string, unknown> {
  let value: unknown;
  if (isNested(text, deepestFile)) throw invalid(path, "it is nested too deeply");
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (cause) {
    throw invalid(path, "it is not JSON", cause);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(path, "it must hold one JSON object");
  }
  return value as Record<string, unknown>;
}

const invalid = (path: string | undefined, why: string, cause?: unknown) =>
  new DeployFailed(
    "PackageInvalid",
    `The configuration file ${path ?? configFiles.join(" or ")} of the package cannot be used: ${why}. Correct it and publish a new version of the package.`,
    { cause },
  );

/** `<componentsRoot>/<folder>`, without `.` segments; empty for the package itself. */
export const folderPath = ({ paths }: PackageConfig, folder: ComponentFolder): string =>
  `${paths.componentsRoot}/${paths[folder]}`
    .split(/[/\\]/)
    .filter((part) => part !== "" && part !== ".")
    .join("/");

/** What describes the package, diagrams of the studio and what it keeps in `.meta` are no components. */
export const isComponentFile = (path: string): boolean =>
  path.endsWith(".json") &&
  path !== "package.json" &&
  !configFiles.includes(path) &&
  !path.endsWith(".diagram.json") &&
  !path.split("/").slice(0, -1).includes(".meta");
