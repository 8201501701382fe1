/** Reads a component package from a folder, as `package-config.ts` says it is laid out. */
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import {
  componentFolders,
  configFiles,
  folderPath,
  isComponentFile,
  readConfigFile,
  type PackageConfig,
} from "./package-config.ts";

export interface ComponentFile {
  /** Relative to the package, with forward slashes. */
  path: string;
  components: unknown[];
}

export async function readPackageConfig(folder: string): Promise<PackageConfig> {
  for (const path of configFiles) {
    const text = await readIfThere(join(folder, path));
    if (text !== undefined) return readConfigFile({ path, text });
  }
  return readConfigFile(undefined);
}

export async function readComponentFiles(
  folder: string,
  config: PackageConfig,
): Promise<ComponentFile[]> {
  const files: ComponentFile[] = [];
  for (const kind of componentFolders) {
    for (const file of await filesBelow(join(folder, folderPath(config, kind)))) {
      const path = relative(folder, file).replaceAll("\\", "/");
      if (!isComponentFile(path)) continue;
      const content: unknown = JSON.parse(await readFile(file, "utf8"));
      files.push({ path, components: Array.isArray(content) ? content : [content] });
    }
  }
  return files;
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  const files: string[] = [];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) files.push(...(await filesBelow(path)));
    else if (entry.isFile()) files.push(path);
  }
  return files;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === "ENOENT";
