/**
 * Reads a component package from a folder: `service.config.json` (or the public system's
 * `vnext.config.json`) names the domain and the folders; every `.json` file below them is one
 * component or an array of components.
 */
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";

export interface PackageConfig {
  name?: string;
  version: string;
  domain: string;
  paths: Record<ComponentFolder, string> & { componentsRoot: string };
}

export interface ComponentFile {
  /** Relative to the package, with forward slashes. */
  path: string;
  components: unknown[];
}

/** In publish order: what is referred to comes before what refers to it. */
const componentFolders = [
  "schemas",
  "mappings",
  "tasks",
  "views",
  "functions",
  "extensions",
  "workflows",
] as const;
type ComponentFolder = (typeof componentFolders)[number];

const configFiles = ["vnext.config.json", "service.config.json"];

export async function readPackageConfig(folder: string): Promise<PackageConfig> {
  let given: Partial<PackageConfig> = {};
  for (const file of configFiles) {
    const text = await readIfThere(join(folder, file));
    if (text === undefined) continue;
    given = JSON.parse(text) as Partial<PackageConfig>;
    break;
  }
  return {
    ...given,
    version: given.version ?? "1.0.0",
    domain: given.domain ?? "core",
    paths: {
      componentsRoot: "core",
      schemas: "Schemas",
      mappings: "Mappings",
      tasks: "Tasks",
      views: "Views",
      functions: "Functions",
      extensions: "Extensions",
      workflows: "Workflows",
      ...given.paths,
    },
  };
}

export async function readComponentFiles(
  folder: string,
  { paths }: PackageConfig,
): Promise<ComponentFile[]> {
  const files: ComponentFile[] = [];
  for (const kind of componentFolders) {
    for (const file of await jsonFilesBelow(join(folder, paths.componentsRoot, paths[kind]))) {
      const content: unknown = JSON.parse(await readFile(file, "utf8"));
      const path = relative(folder, file).replaceAll("\\", "/");
      files.push({ path, components: Array.isArray(content) ? content : [content] });
    }
  }
  return files;
}

async function jsonFilesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  const files: string[] = [];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== ".meta") files.push(...(await jsonFilesBelow(path)));
    else if (entry.isFile() && isComponentFile(entry.name)) files.push(path);
  }
  return files;
}

const isComponentFile = (name: string) => name.endsWith(".json") && !name.endsWith(".diagram.json");

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === "ENOENT";
