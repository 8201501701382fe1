/**
 * The typings that script authors get (`millrace/script`), in one file: the declarations of what the
 * sandbox really loads, and the handler interfaces from the table the runtime asks by.
 *
 *   node scripts/generate-script-typings.mjs [folder]     default: dist
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

const head = `/**
 * What scripts of Millrace import. Generated from the prelude and the handler table by
 * scripts/generate-script-typings.mjs: changes here are lost.
 */
`;

/** The other name that packages import by. */
const alias = `declare module "vnext:script" {
  export * from "millrace/script";
}
`;

const argumentTypes = {
  task: "WorkflowTask",
  context: "ScriptContext",
  channel: "string",
  item: "FanOutItem",
  result: "FanOutResult",
};

const answerTypes = {
  response: "ScriptResponse | null | void",
  boolean: "boolean",
  schedule: "TimerSchedule",
  json: "Dynamic",
  message: "NotificationMessage",
  metadata: "StateNotificationMetadata",
  event: "EventMappingResult",
  items: "Iterable<Dynamic>",
  text: "string",
};

export async function generateScriptTypings(folder) {
  const out = mkdtempSync(join(mkdtempRoot(), "typings-"));
  try {
    compile(out);
    const { handlers } = await import(pathToFileURL(join(out, "contract.js")).href);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "script.d.ts"), head + flatten(out, interfaces(handlers)));
    writeFileSync(join(folder, "vnext-script.d.ts"), alias);
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

/** Inside the project, so that the compiler finds the project's own settings and packages. */
function mkdtempRoot() {
  const folder = join(root, "node_modules", ".cache");
  mkdirSync(folder, { recursive: true });
  return folder;
}

function compile(out) {
  const config = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      incremental: false,
      tsBuildInfoFile: null,
      declaration: true,
      // Members that the prelude's files share among themselves are no business of authors.
      stripInternal: true,
      rootDir: join(root, "src/scripting"),
      outDir: out,
      types: [],
    },
    include: [],
    files: ["prelude/script.ts", "contract.ts"].map((path) => join(root, "src/scripting", path)),
  };
  writeFileSync(join(out, "tsconfig.json"), JSON.stringify(config));
  const typescript = createRequire(import.meta.url).resolve("typescript/package.json");
  const { bin } = JSON.parse(readFileSync(typescript, "utf8"));
  try {
    execFileSync(process.execPath, [join(dirname(typescript), bin.tsc), "-p", out], {
      stdio: ["ignore", "pipe", "inherit"],
    });
  } catch (error) {
    throw new Error(`The prelude does not compile:\n${error.stdout}`, { cause: error });
  }
}

/** One module instead of many: what authors can reach, and the public names at the end. */
function flatten(out, handlerInterfaces) {
  const texts = [];
  const seen = new Set();
  const visit = (file) => {
    if (seen.has(file)) return;
    seen.add(file);
    const text = readFileSync(file, "utf8");
    for (const [, path] of text.matchAll(/^(?:import|export)\b[^;]*?\bfrom "(\.[^"]+)";/gm)) {
      visit(join(dirname(file), path.replace(/\.[jt]s$/, ".d.ts")));
    }
    texts.push(...declarationsOf(text));
  };
  const entry = join(out, "prelude/script.d.ts");
  visit(entry);
  const names = publicNames(readFileSync(entry, "utf8"));
  const body = reachable(texts, [...names, handlerInterfaces].join(" ")).join("\n");
  if (/\bimport\(/.test(body)) throw new Error("A declaration imports inline: name its type.");
  return `${body}\n${handlerInterfaces}\nexport {\n${names.map((name) => `  ${name},\n`).join("")}};\n`;
}

/** A file's declarations, each with its comment. */
function declarationsOf(text) {
  const plain = text
    .replaceAll(/^(?:import|export)\b[^;]*?\bfrom "[^"]+";\n/gm, "")
    .replaceAll(/^export (?=declare\b|interface\b|type\b|abstract\b)/gm, "")
    .replaceAll(/^export \{\};\n/gm, "");
  const declaration =
    /(?:^\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?^(?:declare|interface|type) [\s\S]*?(?=^\/\*\*|^(?:declare|interface|type) |$(?![\s\S]))/gm;
  return plain.match(declaration) ?? [];
}

const nameOf = (declaration) =>
  /^(?:declare )?(?:abstract )?(class|interface|type|const|function) (\w+)/m.exec(declaration);

/** What the names lead to; the rest of the files is between the host and the prelude. */
function reachable(declarations, start) {
  const byName = new Map();
  for (const declaration of declarations) {
    const [, kind, name] = nameOf(declaration);
    const known = byName.get(name) ?? [];
    // A class that goes by another name is a constant and a type.
    const isPair = known.length === 1 && kind === "type" && nameOf(known[0])[1] === "const";
    if (known.length > 0 && !isPair) throw new Error(`'${name}' is declared twice.`);
    byName.set(name, [...known, declaration]);
  }
  const kept = new Set();
  const follow = (text) => {
    for (const [word] of text.matchAll(/\w+/g)) {
      for (const declaration of byName.get(word) ?? []) {
        if (kept.has(declaration)) continue;
        kept.add(declaration);
        follow(declaration.replaceAll(/\/\*[\s\S]*?\*\//g, ""));
      }
    }
  };
  follow(start);
  return declarations.filter((declaration) => kept.has(declaration));
}

function publicNames(entry) {
  const lists = entry.matchAll(/^export (type )?\{([^}]*)\} from/gm);
  return [...lists].flatMap(([, type = "", names]) =>
    names
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "")
      .map((name) => `${name.startsWith("type ") ? "" : type}${name}`),
  );
}

function interfaces(handlers) {
  const groups = new Map();
  for (const row of Object.values(handlers)) {
    groups.set(row.interface, [...(groups.get(row.interface) ?? []), row]);
  }
  const declared = [...groups].map(
    ([name, rows]) => `export interface ${name} {\n${rows.map(method).join("")}}\n`,
  );
  return `type Awaitable<Value> = Value | Promise<Value>;\n\n${declared.join("\n")}`;
}

function method(row) {
  const parameters = row.arguments.map((name) => `${name}: ${argumentTypes[name]}`).join(", ");
  const type = answerTypes[row.answer];
  const answer = row.nullable && !type.includes("null") ? `${type} | null` : type;
  return `  ${row.handler}${row.optional ? "?" : ""}(${parameters}): Awaitable<${answer}>;\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await generateScriptTypings(resolve(process.argv[2] ?? join(root, "dist")));
}
