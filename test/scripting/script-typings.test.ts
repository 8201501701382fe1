/** The typings that authors get: generated from what runs, and enough for what they write. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { handlers } from "../../src/scripting/contract.ts";
import * as script from "../../src/scripting/prelude/script.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
let folder = "";
let typings = "";

beforeAll(() => {
  const cache = join(root, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  folder = mkdtempSync(join(cache, "typings-test-"));
  execFileSync(process.execPath, [join(root, "scripts/generate-script-typings.mjs"), folder]);
  typings = readFileSync(join(folder, "script.d.ts"), "utf8");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What the compiler has to say about an author's file; nothing when all is well. */
function complaints(source: string): string {
  writeFileSync(join(folder, "author.ts"), source);
  const compilerOptions = {
    target: "es2023",
    lib: ["es2023"],
    module: "esnext",
    moduleResolution: "bundler",
    types: [],
    strict: true,
    noEmit: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    paths: { "millrace/script": [join(folder, "script.d.ts")] },
  };
  const files = ["author.ts", "script.d.ts", "vnext-script.d.ts"];
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  const typescript = createRequire(import.meta.url).resolve("typescript/package.json");
  const { bin } = JSON.parse(readFileSync(typescript, "utf8")) as { bin: { tsc: string } };
  try {
    execFileSync(process.execPath, [join(dirname(typescript), bin.tsc), "-p", folder]);
    return "";
  } catch (error) {
    return String((error as { stdout: Buffer }).stdout);
  }
}

test("every name that scripts can import is declared, and nothing of the prelude's inside", () => {
  const exported = /^export \{([^}]*)\}/m.exec(typings)?.[1]?.split(/[\s,]+/) ?? [];

  expect(exported).toEqual(expect.arrayContaining(Object.keys(script)));
  expect(typings).not.toMatch(/@internal|\bfirstChild\b|ScriptCall|import\(/);
});

test("every handler of the table is declared in its interface", () => {
  for (const row of Object.values(handlers)) {
    const [, body = ""] =
      new RegExp(`export interface ${row.interface} \\{([^}]*)\\}`).exec(typings) ?? [];
    expect(body).toMatch(new RegExp(`\\b${row.handler}\\??\\(`));
  }
});

test("an author's files compile, and the mistakes in them are found", () => {
  expect(complaints(author)).toBe("");
});

test("a wrong member is a complaint", () => {
  expect(
    complaints(`import { type ScriptContext } from "millrace/script";
export const Handler = (context: ScriptContext): boolean => context.Bodi.ok;`),
  ).toContain("Property 'Bodi' does not exist on type 'ScriptContext'");
});

const author = `
import { ScriptBase, type WorkflowTask, HttpTask, type ScriptContext, type ScriptResponse } from 'vnext:script';
import {
  DirectTriggerTask, EventMappingResult, GetInstancesTask, NotificationMessage, SoapTask, StartTask,
  StateNotificationMetadata, TimerSchedule, XmlDocument, XmlNamespaceManager,
  type FanOutItem, type FanOutResult,
  type ICacheKeyMapping, type IConditionMapping, type IEventMapping, type IFanOutMapping,
  type IMapping, type INotificationMapping, type IOutputHandler, type IStateNotificationMapping,
  type ISubFlowMapping, type ISubProcessMapping, type ITimerMapping, type ITransitionMapping,
} from "millrace/script";

export default class ReserveStock extends ScriptBase {
  InputHandler(task: WorkflowTask, context: ScriptContext): ScriptResponse {
    if (task instanceof HttpTask) task.SetUrl(\`\${this.GetConfigValue('Stock:Base', 'http://localhost')}/items/\${context.Instance!.Data.itemId}\`);
    return {};
  }
  OutputHandler(context: ScriptContext): ScriptResponse {
    return { Data: { reserved: context.Body?.isSuccess === true, at: new Date().toISOString() } };
  }
}

export class Soap extends ScriptBase implements IMapping {
  async InputHandler(task: WorkflowTask, context: ScriptContext) {
    if (!(task instanceof SoapTask)) throw new Error("Task must be a SoapTask");
    const document = new XmlDocument();
    const envelope = document.CreateElement("soap", "Envelope", "urn:soap");
    envelope.SetAttribute("id", context.Headers?.get("X-Id") ?? "");
    document.AppendChild(envelope);
    task.SetBody(document);
    task.SetBody("<a/>");
    task.SetBody(null);
    task.SetHeaders({ a: "1", b: null });
    task.AddHeader("Authorization", await this.GetSecretAsync("vault", "api", "token"));
    // @ts-expect-error a SOAP body is XML
    task.SetBody({ a: 1 });
    this.LogInformation("sent {id}", envelope.GetAttribute("id"));
  }
  OutputHandler(context: ScriptContext): ScriptResponse {
    const document = this.ParseXml(context.Body.data);
    const ns = new XmlNamespaceManager(document?.NameTable);
    ns.AddNamespace("m", "urn:m");
    const name: string = document?.SelectSingleNode("//m:Name", ns)?.InnerText ?? "";
    const first = document?.DocumentElement?.Attributes["id"]?.Value;
    const total: number = this.GetPropertyValue(context.Body, "total", 0);
    const isOpen: boolean = this.GetPropertyValue(context.Body, "open", false);
    // @ts-expect-error the default is a text
    const wrong: number = this.GetPropertyValue(context.Body, "total", "0");
    for (const node of document?.SelectNodes("//m:Name", { m: "urn:m" }) ?? []) this.LogDebug(node.OuterXml);
    return { Data: { name, first, total, isOpen, wrong }, StatusCode: 201, Headers: { "content-type": "text/xml" }, Tags: ["a"] };
  }
}

export class Rule implements IConditionMapping {
  Handler = (context: ScriptContext) => context.Instance?.IsActive === true;
}
export class Timer implements ITimerMapping {
  Handler = () => TimerSchedule.FromDuration({ hours: 1 });
}
export class Payload implements ITransitionMapping {
  Handler = (context: ScriptContext) => ({ ...context.Body, by: context.Transition?.Key });
}
export class Sub implements ISubFlowMapping, ISubProcessMapping {
  InputHandler = (context: ScriptContext) => ({ Data: context.Instance?.Data, Key: "k" });
  OutputHandler = async (context: ScriptContext) => ({ data: context.Body });
}
export class Notify implements INotificationMapping, IStateNotificationMapping {
  ChannelHandler(channel: string, context: ScriptContext) {
    return channel === "sms" ? new NotificationMessage({ Data: context.Body }) : null;
  }
  EnrichAsync = async () => new StateNotificationMetadata({ Metadata: { a: "b" } });
  OutputHandler = (context: ScriptContext) => ({ Data: context.Body.metadata });
}
export class Inbound implements IEventMapping {
  Handler = (context: ScriptContext) => new EventMappingResult({ InstanceKey: context.EventPayload.key });
}
export class Many implements IFanOutMapping {
  ItemSelector = (context: ScriptContext) => context.Instance?.Data.items ?? [];
  ItemInputHandler(task: WorkflowTask, _context: ScriptContext, item: FanOutItem) {
    if (task instanceof StartTask) task.SetKey(item.ItemKey);
    else if (task instanceof DirectTriggerTask) task.SetInstance(item.Value.id);
    else if (task instanceof GetInstancesTask) task.SetFilter({ key: { eq: item.ItemKey } });
    return {};
  }
  OutputHandler(_context: ScriptContext, result: FanOutResult) {
    return { Data: { done: result.Succeeded, failed: result.Items.filter((item) => !item.IsSuccess) } };
  }
}
export class Key implements ICacheKeyMapping {
  Handler = (context: ScriptContext) => context.QueryParameters?.id ?? null;
}
export class Out implements IOutputHandler {
  async OutputHandler(context: ScriptContext) {
    context.Mutations.SetStage("done");
    context.MetaData["seen"] = true;
    context.SetBody({ a: 1 });
    const parent = await context.Related.ParentAsync();
    return { Data: { parent: parent?.Data.name, task: context.TaskResponse["callIt"]?.data }, ContentType: "text/plain" };
  }
}
export class Mistakes implements IConditionMapping {
  // @ts-expect-error a rule answers true or false
  Handler = () => "yes";
}
export function OutputHandler(this: ScriptBase, context: ScriptContext): ScriptResponse {
  // @ts-expect-error data goes into Data
  return { reserved: ScriptBase.HasProperty(context.Body, "x") };
}
`;
