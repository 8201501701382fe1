import { describe, expect, test } from "vitest";
import { ScriptBase } from "../../../src/scripting/prelude/script.ts";
import { toHeaderMap } from "../../../src/scripting/prelude/headers.ts";
import { createServices, lendServices } from "../../../src/scripting/prelude/services.ts";
import { HttpTask } from "../../../src/scripting/prelude/tasks/http-task.ts";

class Script extends ScriptBase {}

function aScript(lent: Parameters<typeof createServices>[0] = {}) {
  const script = new Script();
  const services = createServices(lent);
  lendServices(script, services);
  return { script, log: services.log };
}

const headers = toHeaderMap({ Authorization: "Bearer x" });
const http = new HttpTask({ config: { url: "http://a" } });

describe("members by name", () => {
  test.each([
    ["a member", { a: 1 }, "a", true],
    ["a member that is null", { a: null }, "a", true],
    ["another case in a map", { a: 1 }, "A", false],
    ["an absent one", {}, "a", false],
    ["no object", null, "a", false],
    ["a blank name", { " ": 1 }, " ", false],
    ["what every object inherits", {}, "constructor", false],
    ["a property of another object, in any case", http, "url", true],
    ["a method of another object", http, "SetUrl", false],
    ["a text", "abc", "length", false],
    ["a header, in any case", headers, "AUTHORIZATION", true],
  ])("HasProperty: %s", (_, obj, name, expected) => {
    expect(ScriptBase.HasProperty(obj, name)).toBe(expected);
    expect(new Script().HasProperty(obj, name)).toBe(expected);
  });

  test.each([
    ["a member", { a: 1 }, "a", 1],
    ["an absent one", {}, "a", null],
    ["another case in a map", { a: 1 }, "A", null],
    ["no object", undefined, "a", null],
    ["a blank name", { "": 1 }, "", null],
    ["a property of another object, in any case", http, "uRL", "http://a"],
    ["a header", headers, "authorization", "Bearer x"],
  ])("GetPropertyValue: %s", (_, obj, name, expected) => {
    expect(new Script().GetPropertyValue(obj, name)).toBe(expected);
  });

  test.each([
    ["absent", {}, 7, 7],
    ["null", { a: null }, "x", "x"],
    ["a number from a text", { a: " 12.5 " }, 0, 12.5],
    ["a number from a truth value", { a: true }, 0, 1],
    ["no number in a text", { a: "many" }, 3, 3],
    ["a text from a number", { a: 12 }, "", "12"],
    ["a truth value from a text", { a: "True" }, false, true],
    ["a truth value from a number", { a: 2 }, false, true],
    ["no truth value in a text", { a: "yes" }, true, true],
    ["no text from an object", { a: {} }, "d", "d"],
    ["a list where a list is wanted", { a: [1] }, [], [1]],
    ["an object where a list is wanted", { a: {} }, [2], [2]],
    ["anything where the default is null", { a: "x" }, null, "x"],
  ])("GetPropertyValue with a default: %s", (_, obj, fallback, expected) => {
    expect(new Script().GetPropertyValue(obj, "a", fallback)).toEqual(expected);
  });

  test("SetProperty sets a member of a map, and a property of another object in any case", () => {
    const map = {};
    const task = new HttpTask();

    new Script().SetProperty(map, "__proto__", 1);
    new Script().SetProperty(task, "method", "POST");
    new Script().SetProperty(task, "nothing", 1);
    new Script().SetProperty(map, " ", 1);

    expect(Object.keys(map)).toEqual(["__proto__"]);
    expect(task.Method).toBe("POST");
    expect(() => new Script().SetProperty(null, "a", 1)).toThrow(
      "Value cannot be null. (Parameter 'obj')",
    );
  });

  test("RemoveProperty and ToDictionary know maps only", () => {
    const map = { a: 1, b: 2 };

    expect(new Script().RemoveProperty(map, "a")).toBe(true);
    expect(new Script().RemoveProperty(map, "a")).toBe(false);
    expect(new Script().RemoveProperty([1], "0")).toBe(false);
    expect(new Script().ToDictionary(map)).toEqual({ b: 2 });
    expect(new Script().ToDictionary(map)).not.toBe(map);
    expect([null, 1, [1], "x", http].map((x) => new Script().ToDictionary(x))).toEqual([
      {},
      {},
      {},
      {},
      {},
    ]);
    expect([new Script().CreateObject(), new Script().CreateList()]).toEqual([{}, []]);
  });
});

const even = (x: number) => x % 2 === 0;

describe("lists", () => {
  const list = [1, 2, 3, 4];
  const script = new Script();

  test.each<[string, unknown, unknown]>([
    ["ListFilter", script.ListFilter(list, even), [2, 4]],
    ["ListFirst", script.ListFirst(list), 1],
    ["ListFirst with a condition", script.ListFirst(list, even), 2],
    ["ListFirst of nothing", script.ListFirst("abc"), null],
    ["ListLast", script.ListLast(list), 4],
    ["ListLast with a condition that nothing fits", script.ListLast(list, (x) => x > 9), null],
    [
      "ListAny",
      [script.ListAny(list), script.ListAny([]), script.ListAny(null)],
      [true, false, false],
    ],
    ["ListAny with a condition", script.ListAny(list, (x) => x > 3), true],
    [
      "ListCount",
      [script.ListCount(list), script.ListCount(list, even), script.ListCount({})],
      [4, 2, 0],
    ],
    ["ListSelect", script.ListSelect(list, (x: number) => x * 2), [2, 4, 6, 8]],
    ["GetList", script.GetList({ items: list }, "items"), list],
    ["GetList of no object", script.GetList(null, "items"), []],
    ["AsList of what is none", [script.AsList("ab"), script.AsList({ length: 1 })], [[], []]],
  ])("%s", (_, found, expected) => {
    expect(found).toEqual(expected);
  });

  test("AsList is the list itself", () => {
    expect(script.AsList(list)).toBe(list);
  });

  test("ListAdd and ListRemove change the list in place", () => {
    const items = [1, 2, 3];

    script.ListAdd(items, 4);
    script.ListAdd("not a list", 4);

    expect(script.ListRemove(items, even)).toBe(2);
    expect(items).toEqual([1, 3]);
  });

  test("a missing condition is an ArgumentNullException", () => {
    expect(() => script.ListFilter(list, null as never)).toThrow(
      expect.objectContaining({
        name: "ArgumentNullException",
        message: "Value cannot be null. (Parameter 'predicate')",
      }),
    );
  });
});

describe("XML", () => {
  test.each([[null], [undefined], [""], ["  \n"], ["<a>"], ["no xml"], [5], [{}]])(
    "ParseXml of %j is null",
    (text) => {
      expect(new Script().ParseXml(text as never)).toBeNull();
    },
  );

  test("ParseXml, XmlToString and EscapeXml", () => {
    const script = new Script();

    expect(script.XmlToString(script.ParseXml("<a>x</a>"))).toBe("<a>x</a>");
    expect(script.XmlToString(null)).toBeNull();
    expect(script.EscapeXml(`<a b="c">'&'`)).toBe("&lt;a b=&quot;c&quot;&gt;&apos;&amp;&apos;");
    expect(script.EscapeXml(null)).toBeNull();
  });
});

describe("the log", () => {
  test.each([
    ["LogTrace", "Trace"],
    ["LogDebug", "Debug"],
    ["LogInformation", "Information"],
    ["LogWarning", "Warning"],
    ["LogError", "Error"],
    ["LogCritical", "Critical"],
  ] as const)("%s", (method, level) => {
    const { script, log } = aScript();

    script[method]("{user} did {0} of {{x}} {missing}", "Ada", { n: 1 });

    expect(log.entries).toEqual([{ level, message: 'Ada did {"n":1} of {x} {missing}' }]);
  });

  test("an array as the only argument holds the arguments", () => {
    const { script, log } = aScript();

    script.LogInformation("{a}-{b}", [1, null]);

    expect(log.entries[0]?.message).toBe("1-(null)");
  });

  test("is bounded in lines and in length", () => {
    const { script, log } = aScript();

    for (let i = 0; i < 500; i += 1) script.LogDebug("x".repeat(10_000));

    expect(log.entries.length).toBeLessThan(20);
    expect(log.entries.length + log.dropped).toBe(500);
    expect(log.entries[0]?.message.length).toBeLessThan(5000);
  });

  test("without services nothing is logged, and nothing thrown", () => {
    expect(() => new Script().LogError("x")).not.toThrow();
    expect(new Script().HasServices).toBe(false);
    expect(aScript().script.HasServices).toBe(true);
  });
});

describe("configuration", () => {
  const lent = {
    config: { "Stock:Base": "http://s", "Stock:Retries": "3", "ConnectionStrings:Main": "db" },
  };

  test.each<[string, (script: Script) => unknown, unknown]>([
    ["a value", (s) => s.GetConfigValue("Stock:Base"), "http://s"],
    ["a value, in any case", (s) => s.GetConfigValue("stock:base"), "http://s"],
    ["a missing value", (s) => s.GetConfigValue("Stock:None"), null],
    ["a missing value with a default", (s) => s.GetConfigValue("Stock:None", "d"), "d"],
    ["a number", (s) => s.GetConfigValue("Stock:Retries", 0), 3],
    ["an existing key", (s) => s.ConfigExists("Stock:Base"), true],
    ["a section", (s) => s.ConfigExists("Stock"), true],
    ["a missing key", (s) => s.ConfigExists("Sto"), false],
    ["a blank key", (s) => s.ConfigExists(" "), false],
    ["a connection string", (s) => s.GetConnectionString("Main"), "db"],
    ["a missing connection string", (s) => s.GetConnectionString("Other"), null],
  ])("%s", (_, read, expected) => {
    expect(read(aScript(lent).script)).toBe(expected);
  });

  test("a value that does not convert gives the default, and a warning", () => {
    const { script, log } = aScript(lent);

    expect(script.GetConfigValue("Stock:Base", 5)).toBe(5);
    expect(log.entries).toEqual([
      { level: "Warning", message: expect.stringContaining("'Stock:Base' to type number") },
    ]);
  });

  test("a blank key is an ArgumentException", () => {
    expect(() => aScript(lent).script.GetConfigValue(" ")).toThrow(
      "Configuration key cannot be null or empty (Parameter 'key')",
    );
  });

  test("a constructor has no services yet", () => {
    expect(() => new Script().GetConfigValue("a")).toThrow(
      expect.objectContaining({ name: "InvalidOperationException" }),
    );
  });
});

describe("secrets", () => {
  const { script } = aScript({ secrets: { vault: { api: { token: "t0p" } } } });

  test("a secret, at once or as a promise", async () => {
    expect(script.GetSecret("vault", "api", "token")).toBe("t0p");
    expect(await script.GetSecretAsync("vault", "api", "token")).toBe("t0p");
    expect(script.GetSecrets("vault", "api")).toEqual({ token: "t0p" });
    expect(await script.GetSecretsAsync("vault", "api")).toEqual({ token: "t0p" });
  });

  test("a key that the secret does not have is an empty text", () => {
    expect(script.GetSecret("vault", "api", "toString")).toBe("");
  });

  test("a store or secret that is not open is an InvalidOperationException", async () => {
    expect(() => script.GetSecret("safe", "api", "token")).toThrow(
      "Failed to retrieve secret 'token' from store 'safe':",
    );
    await expect(script.GetSecretsAsync("vault", "other")).rejects.toThrow(
      expect.objectContaining({ name: "InvalidOperationException" }),
    );
  });

  test.each([
    ["", "api", "token", "storeName"],
    ["vault", " ", "token", "secretStore"],
    ["vault", "api", "", "secretKey"],
  ])("blank arguments are refused (%j, %j, %j)", (store, secret, key, parameter) => {
    expect(() => script.GetSecret(store, secret, key)).toThrow(`(Parameter '${parameter}')`);
  });
});
