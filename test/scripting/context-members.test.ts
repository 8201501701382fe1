import { describe, expect, test } from "vitest";
import { contextMembers, handlers, type HandlerKind } from "../../src/scripting/contract.ts";
import { usedMembers } from "../../src/scripting/context-members.ts";

const used = (source: string, kind?: HandlerKind) => [
  ...usedMembers(source, kind === undefined ? {} : { kind }),
];
const body = (statements: string) =>
  `export default class A extends ScriptBase { OutputHandler(context) { ${statements} } }`;
const all = [...contextMembers];

describe("what is named is sent, and no more", () => {
  test.each([
    ["a member", body("return { Data: context.Body.x }"), ["Body"]],
    [
      "two members",
      body("return { Data: [context.Body, context.Instance?.Data] }"),
      ["Body", "Instance"],
    ],
    ["optional access", body("return context?.Headers?.get('x')"), ["Headers"]],
    ["a member that surely exists", body("return context!.Instance!.Data"), ["Instance"]],
    [
      "a member by text",
      body(`return context["Body"] ?? context?.['Headers']`),
      ["Body", "Headers"],
    ],
    [
      "destructuring",
      body("const { Body, Headers: h = {}, Instance: { Data } } = context; return Body"),
      ["Body", "Headers", "Instance"],
    ],
    ["destructuring without a semicolon", body("const { Body } = context\n return Body"), ["Body"]],
    ["typed destructuring", body("const { Body }: ScriptContext = context; return Body"), ["Body"]],
    [
      "a destructured parameter",
      "export function OutputHandler({ Body, MetaData }) { return Body }",
      ["Body", "MetaData"],
    ],
    [
      "a typed, destructured parameter",
      "export function OutputHandler({ Body }: ScriptContext) { return Body }",
      ["Body"],
    ],
    [
      "methods",
      body(
        "context.SetBody({}); context.SetOutputResponse(1, 'k'); context.Mutations.SetStage('x')",
      ),
      ["Body", "OutputResponse"],
    ],
    ["nothing", body("return { Data: 1 }"), []],
    ["no parameter", "export const OutputHandler = () => ({ Data: 1 })", []],
    [
      "an arrow function",
      "export const OutputHandler = (ctx) => ({ Data: ctx.RawBody });",
      ["RawBody"],
    ],
    [
      "an arrow function without brackets",
      "export const OutputHandler = async c => ({ Data: c.RawBody });",
      ["RawBody"],
    ],
    [
      "an arrow function with types",
      "export const OutputHandler = async (c: ScriptContext): Promise<ScriptResponse> => { return { Data: c.Runtime } }",
      ["Runtime"],
    ],
    [
      "a function expression",
      "export const OutputHandler = function named(c) { return c.Workflow.Key }",
      ["Workflow"],
    ],
    ["a class field", "export default class { OutputHandler = (c) => c.Incident; }", ["Incident"]],
    ["an object", "export default { OutputHandler: (c) => c.Incident, other: 1 }", ["Incident"]],
    [
      "an object's method",
      "export default { async OutputHandler(c) { return c.Incident } }",
      ["Incident"],
    ],
    [
      "types everywhere",
      `export default class A extends ScriptBase implements IMapping {
       override async OutputHandler(context: ScriptContext): Promise<ScriptResponse> { return { Data: context.Body } } }`,
      ["Body"],
    ],
    [
      "a typed this",
      "export function OutputHandler(this: ScriptBase, context: ScriptContext) { return context.Body }",
      ["Body"],
    ],
    [
      "a template",
      body("return `${context.Body.a} ${`${context.Headers.b}`} }`"),
      ["Body", "Headers"],
    ],
    ["a closure", body("return [1].map((i) => context.TaskResponse['t' + i])"), ["TaskResponse"]],
    [
      "the word in comments and texts",
      body("/* context */ // context[x]\n const s = 'context'; return context.Body"),
      ["Body"],
    ],
    [
      "the word as a key or property",
      body("return { context: 1, Data: this.context, Key: context.Body }"),
      ["Body"],
    ],
    [
      "a regular expression with quotes",
      body("const r = /['\"`{]/.test('x'); return context.Body"),
      ["Body"],
    ],
    ["a division", body("const half = context.Body.n / 2 / 3; return half"), ["Body"]],
    [
      "a subclass of a class in the file",
      "class B extends ScriptBase { OutputHandler(c) { return c.Body } } export default class A extends B {}",
      ["Body"],
    ],
    [
      "two handlers",
      "export function InputHandler(task, context) { task.SetUrl(context.Headers.url); f(task) } export function OutputHandler(context) { return context.Body }",
      ["Headers", "Body"],
    ],
    ["a byte order mark", "\uFEFFexport const OutputHandler = (c) => c.Body", ["Body"]],
    [
      "a class exported by name",
      "class A extends ScriptBase { OutputHandler(c) { return c.Body } }\nexport default A;",
      ["Body"],
    ],
    ["numbers with dots", body("const x = 1.5.toFixed(1) + .5; return context.Body"), ["Body"]],
  ])("%s", (_, source, expected) => {
    expect(used(source)).toEqual(expected);
  });
});

describe("whatever cannot be followed means everything", () => {
  test.each([
    ["the context passed on", body("return this.shape(context)")],
    ["the context kept", body("this.context = context; return this.other()")],
    ["an alias", body("const c = context; return c.Body")],
    ["an alias by assignment", body("let c; c = context; return c.Body")],
    ["a cast", body("return (context as any).Body")],
    ["a computed member", body("return context[this.name]")],
    ["a computed member of texts", body("return context['Bo' + 'dy']")],
    ["a template as a member", body("return context[`Body`]")],
    ["the rest", body("const { Body, ...rest } = context; return rest")],
    ["a computed key", body("const { [name]: x } = context; return x")],
    ["destructuring of something else too", body("const { Body } = context ?? other; return Body")],
    ["assignment to a pattern", body("let Body; ({ Body } = context); return Body")],
    ["spread", body("return { Data: { ...context } }")],
    ["the whole in a template", body("return `${context}`")],
    ["JSON of it", body("return JSON.stringify(context)")],
    ["returned", body("return context")],
    ["in a list", body("return [context]")],
    ["as a shorthand member", body("return { context }")],
    ["an unknown member", body("return context.hasOwnProperty('Body')")],
    ["in", body("return 'Body' in context")],
    ["arguments", body("return arguments[0].Body")],
    [
      "default of another parameter",
      "export function OutputHandler(context, b = context) { return b.Body }",
    ],
    ["rest parameters", "export function OutputHandler(...args) { return args[0].Body }"],
    [
      "a default for the context",
      "export function OutputHandler(context = {}) { return context.Body }",
    ],
    [
      "a nested pattern with a rest",
      "export function OutputHandler({ Body, ...rest }) { return rest }",
    ],
    [
      "another handler calls it",
      body("return 1") + " export function Handler(c) { return new A().OutputHandler(c) }",
    ],
    [
      "a base class from elsewhere",
      "export default class A extends Helper { OutputHandler(c) { return c.Body } }",
    ],
    [
      "a base class that is computed",
      "export default class A extends mixin(ScriptBase) { OutputHandler(c) { return c.Body } }",
    ],
    [
      "everything exported from elsewhere",
      "export * from 'helper'; export const OutputHandler = (c) => c.Body",
    ],
    [
      "a handler exported under its name",
      "const run = (c) => c.Body; export { run as OutputHandler }",
    ],
    ["a handler made by a function", "export const OutputHandler = wrap((c) => c.Body)"],
    ["a handler that is another function", "export const OutputHandler = run;"],
    [
      "a handler put on a prototype",
      "class A {} A.prototype.OutputHandler = (c) => c.Body; export default A",
    ],
    ["a handler by text", "class A { ['OutputHandler'](c) { return c.Body } } export default A"],
    [
      "a typed constant",
      "export const OutputHandler: (x: ScriptContext) => unknown = (c) => c.Body",
    ],
    [
      "a default from elsewhere",
      "import { Thing } from 'helper'; class A { OutputHandler(c) { return c.Body } } export default Thing",
    ],
    ["no handler at all", "export const x = 1"],
    ["an escaped name", body("return context.B\\u006fdy")],
    ["a regular expression or a division", body("if (x) /context/.test('`'); return context.Body")],
    ["a text without an end", body("return 'x + context.Body")],
    ["a template without an end", body("return `x + context.Body")],
    ["brackets that do not match", "export function OutputHandler(c) { return (c.Body ] }"],
    [
      "generic parameters",
      "export function OutputHandler(c: Map<string, ScriptContext>) { return c.Body }",
    ],
    [
      "a return type with braces",
      "export function OutputHandler(c): { Data: X } { return c.Body }",
    ],
    ["an accessor", "export default class { get OutputHandler() { return (c) => c.Body } }"],
    ["nothing", ""],
    [
      "C#",
      "public class A : ScriptBase, IMapping { public Task<ScriptResponse> OutputHandler(ScriptContext context) { return context.Body; } }",
    ],
  ])("%s", (_, source) => {
    expect(used(source)).toEqual(all);
  });
});

describe("the context's place among the arguments", () => {
  const both = "export function InputHandler(a, b) { f(a); return b.Body }";
  const task = "export function InputHandler(task, b) { f(task); return b.Body }";

  test.each<[string, HandlerKind | undefined, readonly string[]]>([
    [both, "mapping.input", ["Body"]],
    [both, "subflow.input", all],
    [both, undefined, all],
    [task, undefined, ["Body"]],
    ["export function InputHandler(context) { return context.Body }", "subflow.input", ["Body"]],
    ["export function InputHandler(context) { return context.Body }", "mapping.input", []],
    [
      "export function ChannelHandler(channel, c) { f(channel); return c.Body }",
      undefined,
      ["Body"],
    ],
    [
      "export function ItemInputHandler(task, c, item) { f(task, item); return c.Body }",
      "fanOut.itemInput",
      ["Body"],
    ],
  ])("%s as %s", (source, kind, expected) => {
    expect(used(source, kind)).toEqual(expected);
  });

  test("with a kind, only that handler counts", () => {
    const source =
      "export function InputHandler(task, context) { return context.Headers } export function OutputHandler(context) { return context.Body }";

    expect(used(source, "mapping.input")).toEqual(["Headers"]);
    expect(used(source, "mapping.output")).toEqual(["Body"]);
    expect(used(source, "condition")).toEqual(all);
  });
});

test("without helpers a base class cannot bring handlers", () => {
  const source =
    "import { ScriptBase as Base } from 'millrace/script'; export default class A extends Base { OutputHandler(c) { return c.Body } }";

  expect([...usedMembers(source, { hasHelpers: false })]).toEqual(["Body"]);
  expect([...usedMembers(source, { hasHelpers: true })]).toEqual(all);
});

/** Every member, in every kind of handler, in every way of naming it. */
test.each(Object.entries(handlers))("%s never misses a member that is named", (kind, row) => {
  const parameters = row.arguments.map((name) => (name === "context" ? "ctx" : name)).join(", ");
  for (const member of contextMembers) {
    for (const use of [
      `ctx.${member}`,
      `ctx?.${member}`,
      `ctx!.${member}`,
      `ctx["${member}"]`,
      `(() => { const { ${member}: x } = ctx; return x; })()`,
      `\`\${ctx.${member}}\``,
      `(ctx as ScriptContext).${member}`,
      `show(ctx)`,
    ]) {
      const source = `export default class S extends ScriptBase { ${row.handler}(${parameters}) { const v = ${use}; return v; } }`;
      expect(used(source, kind as HandlerKind), source).toContain(member);
    }
  }
});

test("a long script is read in a moment", () => {
  const long = body(
    `${"const a = { b: [1, 2, `x${1}`], c: /x/g }; f(a);\n".repeat(20_000)} return context.Body`,
  );
  const began = performance.now();

  expect(used(long)).toEqual(["Body"]);
  // Quadratic work would take many minutes.
  expect(performance.now() - began).toBeLessThan(60_000);
});

test("a script of forty thousand classes is read in a moment", () => {
  const classes = "class A extends Z {}\n".repeat(40_000);
  const long = `${classes} class Z {} ${body("return context.Body")}`;

  // Looking for each one's base again would take minutes, longer than a test may.
  expect(used(long)).toEqual(["Body"]);
});
