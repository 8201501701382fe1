import { expect, test } from "vitest";
import { packageContents } from "./package-contents.ts";

const config = (members: object) => JSON.stringify(members);
const contents = (files: Record<string, string>, kind: "standard" | "runtime" = "standard") =>
  packageContents(new Map(Object.entries(files)), kind);
const order = (files: Record<string, string>, kind?: "runtime") =>
  contents(files, kind).groups.map((group) => group.map(({ path }) => path));

test("without a configuration file the public layout holds", () => {
  const { config: read, missing } = contents({ "core/Tasks/a.json": "{}" });

  expect(read).toMatchObject({ version: "1.0.0", domain: "core" });
  expect(missing).toEqual([
    "core/Mappings",
    "core/Views",
    "core/Functions",
    "core/Extensions",
    "core/Workflows",
    "core/Schemas",
  ]);
});

test("service.config.json and vnext.config.json name version, domain and folders", () => {
  const given = {
    name: "n",
    version: "2.1.0",
    domain: "loans",
    paths: { componentsRoot: "./x/", tasks: "t" },
  };
  const files = { "x/t/deep/er/a.json": "{}", "x/Tasks/not.json": "{}" };

  for (const name of ["service.config.json", "vnext.config.json"]) {
    const read = contents({ [name]: config(given), ...files });
    expect(read.config).toMatchObject({ name: "n", version: "2.1.0", domain: "loans" });
    expect(read.groups.flat().map(({ path }) => path)).toEqual(["x/t/deep/er/a.json"]);
  }
});

test("of two configuration files vnext.config.json counts", () => {
  const files = {
    "service.config.json": config({ version: "1.0.0" }),
    "vnext.config.json": config({ version: "2.0.0" }),
  };

  expect(contents(files).config.version).toBe("2.0.0");
});

test("a template that nobody has filled in has no components and no mistakes", () => {
  const { groups, missing } = contents({
    "vnext.config.json": config({ domain: "{name}", paths: { componentsRoot: "{name}" } }),
    "{name}/Tasks/.gitkeep": "",
  });

  expect(groups).toEqual([]);
  expect(missing).not.toContain("{name}/Tasks");
});

test("diagrams, the .meta folders and other files are no components", () => {
  const files = {
    "core/Tasks/b.json": "{}",
    "core/Tasks/a.json": "{}",
    "core/Tasks/a.diagram.json": "{}",
    "core/Tasks/.meta/a.json": "{}",
    "core/Tasks/src/a.csx": "",
    "core/Tasksy/a.json": "{}",
    "package.json": "{}",
  };

  expect(order(files)).toEqual([["core/Tasks/a.json", "core/Tasks/b.json"]]);
});

test("a file goes once, also where folders are shared or lie inside each other", () => {
  const paths = { componentsRoot: ".", mappings: "m", tasks: "all", views: "all", workflows: "." };
  const files = {
    "service.config.json": config({ paths }),
    "package.json": "{}",
    "all/a.json": "{}",
    "w.json": "{}",
  };

  expect(order(files)).toEqual([["all/a.json"], ["w.json"]]);
});

const everything = {
  "core/Schemas/s.json": "{}",
  "core/Workflows/z.json": "{}",
  "core/Workflows/in/Sys-Flows.json": "{}",
  "core/Extensions/e.json": "{}",
  "core/Functions/f.json": "{}",
  "core/Views/v.json": "{}",
  "core/Tasks/t.json": "{}",
  "core/Mappings/m.json": "{}",
};

test("a package goes folder by folder, helpers first", () => {
  expect(order(everything)).toEqual([
    ["core/Mappings/m.json"],
    ["core/Tasks/t.json"],
    ["core/Views/v.json"],
    ["core/Functions/f.json"],
    ["core/Extensions/e.json"],
    ["core/Workflows/in/Sys-Flows.json", "core/Workflows/z.json"],
    ["core/Schemas/s.json"],
  ]);
});

test("the runtime package goes with its system flows first, then its workflows, then the rest", () => {
  expect(order(everything, "runtime")).toEqual([
    ["core/Workflows/in/Sys-Flows.json"],
    ["core/Workflows/z.json"],
    ["core/Mappings/m.json"],
    ["core/Tasks/t.json"],
    ["core/Views/v.json"],
    ["core/Functions/f.json"],
    ["core/Extensions/e.json"],
    ["core/Schemas/s.json"],
  ]);
});

test.each([
  ["no component package", { "index.js": "" }, "neither vnext.config.json nor service.config.json"],
  ["no JSON", { "service.config.json": "{" }, "service.config.json of the package cannot be used"],
  ["a list", { "service.config.json": "[]" }, "one JSON object"],
  ["no SemVer", { "service.config.json": config({ version: "one" }) }, "'one' is not SemVer"],
  [
    "a domain of digits",
    { "service.config.json": config({ domain: "d1" }), "core/Tasks/a.json": "{}" },
    "'d1' in the package",
  ],
  ["a number", { "vnext.config.json": config({ version: 1 }) }, "'version' must be text"],
  [
    "paths as text",
    { "vnext.config.json": config({ paths: "core" }) },
    "'paths' must be an object",
  ],
])("refuses a package with %s", (_what, files, message) => {
  expect(() => contents(files)).toThrow(message);
});
