import { describe, expect, test } from "vitest";
import {
  handlerListing,
  handlers,
  type HandlerKind,
  type ScriptAnswer,
  type ScriptCall,
} from "../../../src/scripting/contract.ts";
import { invoke } from "../../../src/scripting/prelude/invoke.ts";
import {
  EventMappingResult,
  HttpTask,
  NotificationMessage,
  ScriptBase,
  type ScriptContext,
  ScriptResponse,
  StateNotificationMetadata,
  TimerSchedule,
  type WorkflowTask,
} from "../../../src/scripting/prelude/script.ts";

const httpTask = {
  type: "6",
  key: "call",
  domain: "d",
  version: "1.0.0",
  flow: "sys-tasks",
  config: { url: "http://a", method: "GET" },
};

async function ask(
  exports: Record<string, unknown>,
  kind: HandlerKind,
  call: Partial<ScriptCall> = {},
): Promise<ScriptAnswer> {
  const args = JSON.stringify({ context: {}, ...call, kind });
  return JSON.parse(await invoke(exports, handlers[kind].handler, args)) as ScriptAnswer;
}

/** Asks a handler that answers with a fixed value. */
const answered = async (kind: HandlerKind, value: unknown) =>
  (await ask({ [handlers[kind].handler]: () => value }, kind, { task: httpTask })).value;

const empty = {
  key: null,
  data: null,
  headers: null,
  statusCode: null,
  routeValues: null,
  tags: [],
};

/** A task by its class, anything else as it is. */
const seen = (arg: unknown) =>
  arg !== null && typeof arg === "object" ? arg.constructor.name : arg;

describe("every handler kind", () => {
  const call = {
    task: httpTask,
    channel: "sms",
    item: { Index: 2, Value: "v", ItemKey: "2" },
    result: { Total: 3 },
    context: { Body: { n: 1 } },
  };

  test.each<[HandlerKind, unknown[]]>([
    ["mapping.input", ["HttpTask", { n: 1 }]],
    ["mapping.output", [{ n: 1 }]],
    ["output", [{ n: 1 }]],
    ["condition", [{ n: 1 }]],
    ["timer", [{ n: 1 }]],
    ["transition", [{ n: 1 }]],
    ["subflow.input", [{ n: 1 }]],
    ["subflow.output", [{ n: 1 }]],
    ["subprocess.input", [{ n: 1 }]],
    ["notification.channel", ["sms", { n: 1 }]],
    ["notification.state", [{ n: 1 }]],
    ["notification.output", [{ n: 1 }]],
    ["event", [{ n: 1 }]],
    ["fanOut.items", [{ n: 1 }]],
    ["fanOut.itemInput", ["HttpTask", { n: 1 }, "2"]],
    ["fanOut.output", [{ n: 1 }, 3]],
    ["cacheKey", [{ n: 1 }]],
  ])("%s is called with its arguments", async (kind, expected) => {
    let args: unknown[] = [];
    const right = rightAnswers[kind][0]?.[0];
    await ask(
      {
        [handlers[kind].handler]: (...given: unknown[]) => {
          args = given;
          return right;
        },
      },
      kind,
      call,
    );

    const readable = args.map((arg) => {
      const value = arg as Record<string, unknown>;
      return typeof arg === "object" && "Mutations" in value
        ? value["Body"]
        : (value["ItemKey"] ?? value["Total"] ?? seen(arg));
    });
    expect(readable).toEqual(expected);
  });

  const rightAnswers: Record<HandlerKind, [unknown, unknown][]> = {
    "mapping.input": [[undefined, empty]],
    "mapping.output": [
      [{}, empty],
      [null, empty],
      [
        new ScriptResponse({
          Key: "k",
          Data: { A: 1 },
          Headers: { "X-A": 1 },
          StatusCode: 201,
          Tags: ["t"],
        }),
        {
          ...empty,
          key: "k",
          data: { A: 1 },
          headers: { "X-A": "1" },
          statusCode: 201,
          tags: ["t"],
        },
      ],
      [
        {
          key: "k",
          data: [1],
          headers: { a: ["b", "c"], n: null },
          statusCode: "404",
          routeValues: { id: 1 },
          tags: null,
        },
        {
          ...empty,
          key: "k",
          data: [1],
          headers: { a: "b, c" },
          statusCode: 404,
          routeValues: { id: 1 },
        },
      ],
      [
        { Data: "pascal", data: "camel" },
        { ...empty, data: "pascal" },
      ],
      [Promise.resolve({ Data: 1 }), { ...empty, data: 1 }],
      [{ Data: new Map([["a", new Set([1])]]) }, { ...empty, data: { a: [1] } }],
    ],
    output: [
      [
        { Data: "<a/>", ContentType: "text/xml" },
        { ...empty, data: "<a/>", headers: { "content-type": "text/xml" } },
      ],
      [
        { Data: 1, Headers: { "Content-Type": "text/csv" }, ContentType: "text/xml" },
        { ...empty, data: 1, headers: { "Content-Type": "text/csv" } },
      ],
      [{ StatusCode: 204 }, { ...empty, statusCode: 204 }],
    ],
    condition: [
      [true, true],
      [false, false],
      [Promise.resolve(true), true],
    ],
    timer: [
      [TimerSchedule.Immediate(), { delayMs: 2000 }],
      [TimerSchedule.FromCronExpression("0 0 * * *"), { cron: "0 0 * * *" }],
      [new Date(0), { dueAt: "1970-01-01T00:00:00.000Z" }],
      [{ DelayMs: 5 }, { delayMs: 5 }],
      [{ dueAt: "2026-01-01T00:00:00" }, { dueAt: "2026-01-01T00:00:00.000Z" }],
    ],
    transition: [
      [
        { Any: "thing", n: null },
        { Any: "thing", n: null },
      ],
      [undefined, null],
      [[1], [1]],
    ],
    "subflow.input": [
      [
        { Data: { a: 1 }, Key: 7 },
        { ...empty, data: { a: 1 }, key: "7" },
      ],
    ],
    "subflow.output": [[{ Data: { a: 1 } }, { ...empty, data: { a: 1 } }]],
    "subprocess.input": [[{ Tags: ["a", ""] }, { ...empty, tags: ["a"] }]],
    "notification.channel": [
      [
        new NotificationMessage({ Data: { to: "x" } }),
        { data: { to: "x" }, metadata: {}, operation: "create" },
      ],
      [
        { data: "x", metadata: { n: 1 }, operation: "send" },
        { data: "x", metadata: { n: "1" }, operation: "send" },
      ],
      [null, null],
      [undefined, null],
    ],
    "notification.state": [
      [
        new StateNotificationMetadata({ Metadata: { a: "b" } }),
        { metadata: { a: "b" }, operation: "create" },
      ],
      [undefined, { metadata: {}, operation: "create" }],
    ],
    "notification.output": [[{ Data: { a: 1 } }, { ...empty, data: { a: 1 } }]],
    event: [
      [
        new EventMappingResult({ InstanceKey: "k", Body: { a: 1 } }),
        { instanceKey: "k", body: { a: 1 }, selector: null },
      ],
      [
        { selector: { key: { eq: "k" } } },
        { instanceKey: null, body: null, selector: { key: { eq: "k" } } },
      ],
    ],
    "fanOut.items": [
      [
        [1, 2],
        [1, 2],
      ],
      [new Set(["a"]), ["a"]],
      [null, null],
    ],
    "fanOut.itemInput": [[{}, empty]],
    "fanOut.output": [
      [{ Data: { done: true } }, { ...empty, data: { done: true } }],
      [null, null],
    ],
    cacheKey: [
      ["customer:1", "customer:1"],
      [7, "7"],
      [" ", null],
      [null, null],
    ],
  };

  test.each(
    Object.entries(rightAnswers).flatMap(([kind, cases]) =>
      cases.map(([value, expected], i) => [kind as HandlerKind, i + 1, value, expected] as const),
    ),
  )("%s, answer %i", async (kind, _, value, expected) => {
    expect(await answered(kind, value)).toEqual(expected);
  });

  test.each<[HandlerKind, unknown, string]>([
    ["condition", "yes", "Handler must answer true or false, but answered the text 'yes'."],
    ["condition", 1, "Handler must answer true or false, but answered the number 1."],
    ["condition", undefined, "Handler must answer true or false, but answered nothing."],
    ["condition", { Data: true }, "but answered an object with Data."],
    ["timer", "PT5S", "Handler must answer a TimerSchedule, but answered the text 'PT5S'."],
    ["timer", null, "but answered null."],
    [
      "mapping.output",
      "text",
      "OutputHandler must answer a ScriptResponse, but answered the text 'text'.",
    ],
    ["mapping.output", { reserved: true }, "To answer that as data, return { Data: … }."],
    [
      "mapping.output",
      { StatusCode: 99 },
      "OutputHandler must answer StatusCode as a number from 100 to 599",
    ],
    ["output", { Headers: { a: {} } }, "Headers.a as a text"],
    ["output", { Headers: "a: b" }, "Headers as an object of texts"],
    ["mapping.output", { Tags: 5 }, "Tags as a list of texts"],
    ["notification.channel", { Metadata: {} }, "a NotificationMessage with Data"],
    ["event", null, "an EventMappingResult, but answered null"],
    ["fanOut.items", 5, "a list of items, or null"],
    ["cacheKey", {}, "a text, or null"],
  ])("%s cannot use %j", async (kind, value, message) => {
    await expect(answered(kind, value)).rejects.toThrow(
      expect.objectContaining({
        name: "ScriptAnswerException",
        message: expect.stringContaining(message),
      }),
    );
  });
});

function OutputHandler() {
  return { Data: 2 };
}

describe("where handlers are found", () => {
  class Base extends ScriptBase {
    OutputHandler() {
      return { Data: this.HasServices };
    }
  }

  test.each<[string, Record<string, unknown>, unknown]>([
    ["the default class", { default: Base }, true],
    ["an inherited handler", { default: class extends Base {} }, true],
    ["another exported class", { A: Error, B: Base }, true],
    [
      "a class without ScriptBase",
      {
        default: class {
          OutputHandler = () => ({ Data: 5 });
        },
      },
      5,
    ],
    [
      "a field of a class",
      {
        default: class extends ScriptBase {
          OutputHandler = () => ({ Data: this.HasServices });
        },
      },
      true,
    ],
    ["an exported function", { OutputHandler: () => ({ Data: 1 }) }, 1],
    [
      "an exported function, with the helpers as this",
      {
        OutputHandler(this: ScriptBase) {
          return { Data: this.HasServices };
        },
      },
      true,
    ],
    [
      "a default function of that name",
      {
        default: OutputHandler,
      },
      2,
    ],
    ["a default object", { default: { OutputHandler: () => ({ Data: 3 }) } }, 3],
    [
      "the default class before the functions",
      { OutputHandler: () => ({ Data: 1 }), default: Base },
      true,
    ],
  ])("%s", async (_, exports, data) => {
    expect((await ask(exports, "mapping.output")).value).toEqual({ ...empty, data });
  });

  test("an object is made for each call", async () => {
    class Counter {
      calls = 0;
      OutputHandler() {
        this.calls += 1;
        return { Data: this.calls };
      }
    }

    expect((await ask({ default: Counter }, "mapping.output")).value).toMatchObject({ data: 1 });
    expect((await ask({ default: Counter }, "mapping.output")).value).toMatchObject({ data: 1 });
  });

  test("a missing handler is an error that lists what there is", async () => {
    class Mapping {
      InputHandler() {}
    }

    await expect(ask({ default: Mapping, Handler: () => true }, "mapping.output")).rejects.toThrow(
      "No handler 'OutputHandler' found. Available: Mapping.InputHandler, Handler.",
    );
    await expect(ask({}, "condition")).rejects.toThrow(
      "No handler 'Handler' found. Available: none.",
    );
  });

  test.each([
    "fanOut.items",
    "fanOut.output",
    "notification.state",
    "notification.output",
  ] as const)("%s may be missing", async (kind) => {
    expect(await ask({ ItemInputHandler: () => ({}) }, kind)).toEqual({ value: null });
  });

  test("what a script has can be listed", async () => {
    class Both {
      InputHandler() {}
      OutputHandler() {}
    }

    const answer = await invoke({ default: Both, Handler() {} }, handlerListing, "{}");

    expect(JSON.parse(answer)).toEqual({
      value: ["Both.InputHandler", "Both.OutputHandler", "Handler"],
    });
  });

  test("a kind that does not go with the handler is refused", async () => {
    await expect(
      invoke({ Handler: () => true }, "Handler", '{"kind":"mapping.output","context":{}}'),
    ).rejects.toThrow("'mapping.output' is not a handler kind of 'Handler'.");
    await expect(
      invoke({ Handler: () => true }, "Handler", '{"kind":"constructor","context":{}}'),
    ).rejects.toThrow("is not a handler kind");
  });
});

describe("what comes back beside the answer", () => {
  test("the task as the input handler left it", async () => {
    const answer = await ask(
      {
        InputHandler(task: WorkflowTask) {
          if (task instanceof HttpTask) {
            task.SetUrl("http://b");
            task.SetBody({ CitizenshipNumber: "1" });
          }
        },
      },
      "mapping.input",
      { task: httpTask },
    );

    expect(answer.task).toEqual({
      url: "http://b",
      method: "GET",
      body: { CitizenshipNumber: "1" },
    });
  });

  test("what was written to MetaData, and nothing when nothing was", async () => {
    const exports = {
      OutputHandler({ MetaData }: ScriptContext) {
        MetaData["added"] = { at: new Date(0) };
        MetaData["deep"].n += 1;
        delete MetaData["gone"];
      },
    };
    const context = { MetaData: { deep: { n: 1 }, gone: 1, same: [1] } };

    expect((await ask(exports, "mapping.output", { context })).metaData).toEqual({
      added: { at: "1970-01-01T00:00:00.000Z" },
      deep: { n: 2 },
      gone: null,
    });
    expect(await ask({ OutputHandler() {} }, "mapping.output", { context })).toEqual({
      value: empty,
    });
  });

  test.each([
    ["set", "review", "review"],
    ["cleared", null, null],
  ])("the stage, %s", async (_, stage, expected) => {
    const answer = await ask(
      { OutputHandler: ({ Mutations }: ScriptContext) => Mutations.SetStage(stage) },
      "mapping.output",
    );

    expect(answer.stage).toBe(expected);
  });

  test("a stage that is too long is refused at the call", async () => {
    let caught: unknown;
    await ask(
      {
        OutputHandler({ Mutations }: ScriptContext) {
          try {
            Mutations.SetStage("x".repeat(121));
          } catch (error) {
            caught = error;
          }
        },
      },
      "mapping.output",
    );

    expect(caught).toMatchObject({
      name: "ArgumentException",
      message: expect.stringContaining("at most 120"),
    });
  });

  test("the body after SetBody, and responses that were set", async () => {
    const answer = await ask(
      {
        OutputHandler(context: ScriptContext) {
          context.SetBody({ a: { y: 2 } });
          context.SetStandardResponse({ Data: { ok: true }, StatusCode: 200 }, "callIt");
          context.SetOutputResponse([1], "shape");
        },
      },
      "mapping.output",
      { context: { Body: { a: { x: 1 } } } },
    );

    expect(answer).toMatchObject({
      body: { a: { x: 1, y: 2 }, data: { ok: true }, statusCode: 200 },
      taskResponse: { callIt: { data: { ok: true }, statusCode: 200 } },
      outputResponse: { shape: [1] },
    });
  });

  test("log lines, where no host took them", async () => {
    const answer = await ask(
      {
        default: class extends ScriptBase {
          OutputHandler() {
            this.LogWarning("low on {item}", "tea");
          }
        },
      },
      "mapping.output",
    );

    expect(answer.logs).toEqual([{ level: "Warning", message: "low on tea" }]);
  });
});

describe("what is thrown", () => {
  test.each([
    ["an error", new RangeError("too far")],
    ["a text", "just a text"],
    ["nothing", undefined],
  ])("%s leaves as it is", async (_, thrown) => {
    const caught = await ask(
      {
        OutputHandler() {
          throw thrown;
        },
      },
      "mapping.output",
    ).catch((error: unknown) => error);

    expect(caught).toBe(thrown);
  });

  test("a rejected promise is thrown as well", async () => {
    await expect(
      ask({ Handler: () => Promise.reject(new Error("later")) }, "condition"),
    ).rejects.toThrow("later");
  });

  test("an answer that JSON cannot hold is an error", async () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;

    await expect(
      ask({ OutputHandler: () => ({ Data: cycle }) }, "mapping.output"),
    ).rejects.toThrow();
  });
});
