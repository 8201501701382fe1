/**
 * What of a package is published, and in which order (pure).
 *
 * Groups follow one another; the files of one group may be published side by side. Standard packages:
 * one group per folder. The runtime package: its system flows file alone, the other workflows, then
 * the remaining folders.
 */
import { DeployFailed } from "./deploy-failure.ts";
import {
  componentFolders,
  configFiles,
  folderPath,
  isComponentFile,
  readConfigFile,
  type ComponentFolder,
  type PackageConfig,
} from "./package-config.ts";

/** Text of the JSON files of a package, by path from its root; of other files the path alone. */
export type PackageFiles = ReadonlyMap<string, string>;

export interface PackageFile {
  path: string;
  text: string;
}

export interface PackageContents {
  config: PackageConfig;
  groups: readonly (readonly PackageFile[])[];
  /** Component folders that the package does not have. */
  missing: readonly string[];
}

export type PackageKind = "standard" | "runtime";

export function packageContents(files: PackageFiles, kind: PackageKind): PackageContents {
  const config = configOf(files);
  const groups: PackageFile[][] = [];
  const missing: string[] = [];
  const taken = new Set<string>();
  for (const folder of order[kind]) {
    const path = folderPath(config, folder);
    if (!hasFolder(files, path)) missing.push(path);
    // Kinds may share a folder, or have theirs inside another's: a file goes once.
    const found = filesBelow(files, path).filter((file) => !taken.has(file.path));
    for (const file of found) taken.add(file.path);
    if (folder === "workflows" && kind === "runtime") groups.push(...systemFlowsFirst(found));
    else groups.push(found);
  }
  if (groups.flat().length > 0) refuseOddDomain(config);
  return { config, groups: groups.filter((group) => group.length > 0), missing };
}

/** It becomes part of every version. A template that nobody has filled in has no components. */
function refuseOddDomain({ domain }: PackageConfig): void {
  if (/^[a-zA-Z-]{1,50}$/.test(domain)) return;
  throw new DeployFailed(
    "PackageInvalid",
    `The domain '${domain.slice(0, 100)}' in the package's configuration file must be 1 to 50 letters and hyphens. Correct it and publish a new version of the package.`,
  );
}

const order: Record<PackageKind, readonly ComponentFolder[]> = {
  // Helpers first: scripts of everything else use them.
  standard: componentFolders,
  runtime: ["workflows", ...componentFolders.filter((folder) => folder !== "workflows")],
};

function configOf(files: PackageFiles): PackageConfig {
  const path = configFiles.find((name) => files.has(name));
  if (path === undefined && !hasFolder(files, "core")) {
    throw new DeployFailed(
      "PackageInvalid",
      `The package has neither ${configFiles.join(" nor ")} nor a folder 'core', so it is no component package. Check the package's name, and the 'files' list of its package.json.`,
    );
  }
  return readConfigFile(path === undefined ? undefined : { path, text: files.get(path)! });
}

const prefixOf = (folder: string): string => (folder === "" ? "" : `${folder}/`);

const hasFolder = (files: PackageFiles, folder: string): boolean =>
  [...files.keys()].some((path) => path.startsWith(prefixOf(folder)));

/** By name, so that every deployment of a package goes the same way. */
const filesBelow = (files: PackageFiles, folder: string): PackageFile[] =>
  [...files]
    .filter(([path]) => path.startsWith(prefixOf(folder)) && isComponentFile(path))
    .map(([path, text]) => ({ path, text }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));

function systemFlowsFirst(workflows: PackageFile[]): PackageFile[][] {
  const isFirst = ({ path }: PackageFile) => /(?:^|\/)sys-flows\.json$/i.test(path);
  return [workflows.filter(isFirst), workflows.filter((file) => !isFirst(file))];
}
