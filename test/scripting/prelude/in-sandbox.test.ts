/** The same prelude where it is meant to run: without Node, in the sandbox's engine. */
import { afterAll, expect, test } from "vitest";
import { handlers, type HandlerKind, type ScriptCall } from "../../../src/scripting/contract.ts";
import { readAnswer } from "../../../src/scripting/read-answer.ts";
import { createSandbox } from "../../../src/scripting/worker/create-sandbox.ts";

const sandbox = createSandbox();
afterAll(() => sandbox.close());

async function ask(source: string, kind: HandlerKind, call: Partial<ScriptCall> = {}) {
  const script = { id: source, name: "a.ts", helpers: [], source };
  const args = JSON.stringify({ context: {}, ...call, kind });
  const { handler } = handlers[kind];
  const answer = await sandbox.call({ script, handler, args, limits: { timeMs: 10_000 } });
  return { ...readAnswer(kind, answer.value), sent: answer.logs };
}

const mapping = (input: string, output = "return {}") => `
import { ScriptBase, HttpTask, SoapTask, TimerSchedule, XmlDocument, XmlNamespaceManager } from "millrace/script";
export default class A extends ScriptBase {
  InputHandler(task, context) { ${input} }
  OutputHandler(context) { ${output} }
}`;
const soap = {
  type: "16",
  key: "k",
  domain: "d",
  version: "1.0.0",
  flow: "sys-tasks",
  config: { url: "http://a", soapAction: "x" },
};

test("a SOAP call is prepared and its answer read", async () => {
  const source = mapping(
    `const doc = new XmlDocument();
     const env = doc.CreateElement("soap", "Envelope", "urn:soap");
     const name = doc.CreateElement("Name", "urn:m");
     name.InnerText = context.Body.name;
     env.AppendChild(name); doc.AppendChild(env);
     if (task instanceof SoapTask) { task.SetBody(doc); task.AddHeader("X-A", "1"); }
     this.LogInformation("asked for {name}", context.Body.name);`,
    `const doc = this.ParseXml(context.Body.data);
     const ns = new XmlNamespaceManager(doc.NameTable);
     ns.AddNamespace("m", "urn:m");
     return { Data: { name: doc.SelectSingleNode("//m:Name[@id='2']", ns)?.InnerText, n: doc.Evaluate("count(//m:Name)", ns) } };`,
  );

  const input = await ask(source, "mapping.input", {
    task: soap,
    context: { Body: { name: "Ada & Bob" } },
  });
  expect(input.task).toEqual({
    url: "http://a",
    soapAction: "x",
    headers: { "X-A": "1" },
    body: '<soap:Envelope xmlns:soap="urn:soap"><Name xmlns="urn:m">Ada &amp; Bob</Name></soap:Envelope>',
  });
  expect(input.sent).toEqual([{ level: "Information", message: "asked for Ada & Bob" }]);
  expect(input.logs).toBeUndefined();

  const output = await ask(source, "mapping.output", {
    context: { Body: { data: '<r xmlns="urn:m"><Name id="1">A</Name><Name id="2">B</Name></r>' } },
  });
  expect(output.value).toMatchObject({ data: { name: "B", n: 2 } });
});

test.each<[HandlerKind, string, Partial<ScriptCall>, unknown]>([
  [
    "condition",
    "export const Handler = async (c) => c.Body.n > 1",
    { context: { Body: { n: 2 } } },
    true,
  ],
  [
    "timer",
    'import { TimerSchedule } from "vnext:script"; export const Handler = () => TimerSchedule.FromDuration("PT5S")',
    {},
    { delayMs: 5000 },
  ],
  [
    "transition",
    "export const Handler = ({ Headers }) => ({ id: Headers.get('X-ID') })",
    { context: { Headers: { "x-id": "7" } } },
    { id: "7" },
  ],
  [
    "notification.channel",
    "export const ChannelHandler = (channel) => channel === 'sms' ? { Data: channel } : null",
    { channel: "sms" },
    { data: "sms", metadata: {}, operation: "create" },
  ],
  [
    "notification.state",
    "export const EnrichAsync = async () => ({ Metadata: { a: 'b' } })",
    {},
    { metadata: { a: "b" }, operation: "create" },
  ],
  [
    "event",
    "export const Handler = (c) => ({ InstanceKey: c.EventPayload.key, Body: c.EventPayload })",
    { context: { EventPayload: { key: "k" } } },
    { instanceKey: "k", body: { key: "k" }, selector: null },
  ],
  ["fanOut.items", "export const ItemSelector = function* () { yield 1; yield 2; }", {}, [1, 2]],
  [
    "cacheKey",
    "export const Handler = (c) => `k:${c.Instance.Key}:${c.Instance.IsActive}`",
    { context: { Instance: { Id: "1", Key: "L", Status: "A" } } },
    "k:L:true",
  ],
])("%s", async (kind, source, call, value) => {
  expect((await ask(source, kind, call)).value).toEqual(value);
});

test("an error has the author's line, and what was logged before it is kept", async () => {
  const source = mapping("", `this.LogWarning("before");\n  throw new RangeError("too far");`);

  await expect(ask(source, "mapping.output")).rejects.toMatchObject({
    message: "too far",
    errorName: "RangeError",
    line: 6,
    logs: [{ level: "Warning", message: "before" }],
  });
});

test("a helper's error points to the line that called it", async () => {
  const source = mapping("", `\n\n this.GetConfigValue(" ");`);

  await expect(ask(source, "mapping.output")).rejects.toMatchObject({
    errorName: "ArgumentException",
    line: 7,
  });
});

test("bombs and deep nesting are null", async () => {
  const source = mapping("", "return { Data: context.Body.map((x) => this.ParseXml(x)) }");
  const Body = [
    '<!DOCTYPE l [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;">]><l>&b;</l>',
    "<a>".repeat(50_000),
    `<a>${"&x;".repeat(20_000)}</a>`,
  ];

  expect((await ask(source, "mapping.output", { context: { Body } })).value).toMatchObject({
    data: [null, null, null],
  });
});
