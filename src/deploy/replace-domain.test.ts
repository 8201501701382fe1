import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ExactNumber,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../engine/exact-json.ts";
import { replaceDomain } from "./replace-domain.ts";

const moved = (component: JsonObject) => replaceDomain(component, "retail");

describe("the rules", () => {
  test.each<[string, JsonObject, JsonObject]>([
    ["the root", { key: "a", domain: "core" }, { key: "a", domain: "retail" }],
    [
      "attributes and everything below",
      { domain: "core", attributes: { domain: "core", states: [{ view: { domain: "other" } }] } },
      {
        domain: "retail",
        attributes: { domain: "retail", states: [{ view: { domain: "retail" } }] },
      },
    ],
    [
      "seed records",
      { domain: "core", data: [{ domain: "core" }, { domain: "x", crossDomain: true }] },
      { domain: "retail", data: [{ domain: "retail" }, { domain: "x", crossDomain: true }] },
    ],
    [
      "not what lies below config and process",
      { domain: "core", attributes: { config: { domain: "core" }, process: [{ domain: "core" }] } },
      {
        domain: "retail",
        attributes: { config: { domain: "core" }, process: [{ domain: "core" }] },
      },
    ],
    [
      "not the domain beside crossDomain, but what lies below it",
      {
        domain: "core",
        attributes: { ref: { domain: "x", crossDomain: true, in: { domain: "x" } } },
      },
      {
        domain: "retail",
        attributes: { ref: { domain: "x", crossDomain: true, in: { domain: "retail" } } },
      },
    ],
    [
      "nothing of a component that is marked itself",
      { domain: "core", crossDomain: true, attributes: { view: { domain: "core" } } },
      { domain: "core", crossDomain: true, attributes: { view: { domain: "core" } } },
    ],
    [
      "only text",
      { domain: "core", attributes: { properties: { domain: { type: "string" } }, domain: null } },
      {
        domain: "retail",
        attributes: { properties: { domain: { type: "string" } }, domain: null },
      },
    ],
    [
      "crossDomain is true or nothing",
      { domain: "core", crossDomain: "true" },
      { domain: "retail", crossDomain: "true" },
    ],
  ])("%s", (_name, component, expected) => {
    expect(moved(component)).toEqual(expected);
  });

  test("exact numbers stay what they are", () => {
    const amount = new ExactNumber("0.10");

    expect(moved({ domain: "core", attributes: { amount } })["attributes"]).toEqual({ amount });
  });
});

const names = ["domain", "config", "process", "crossDomain", "data", "attributes", "ref", "x"];
const anyComponent = fc
  .letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<JsonValue>("core", "other", true, null, 7),
      fc.array(tie("value"), { maxLength: 3 }),
      tie("object"),
    ),
    object: fc.dictionary(fc.constantFrom(...names), tie("value"), { maxKeys: 6 }),
  }))
  .object.map((object) => ({ ...object }));

/** Every `domain` text, with whether a rule protects it. */
function* domainsOf(
  value: JsonValue,
  path: string,
  isProtected: boolean,
  isComponent: boolean,
): Generator<{ path: string; domain: string; isProtected: boolean }> {
  if (Array.isArray(value)) {
    const ofSeeds = path === "$.data";
    for (const [i, item] of value.entries()) {
      yield* domainsOf(item, `${path}[${i}]`, isProtected, ofSeeds);
    }
    return;
  }
  if (!isJsonObject(value)) return;
  const marked = value["crossDomain"] === true;
  for (const [name, member] of Object.entries(value)) {
    const below = isProtected || name === "config" || name === "process" || (isComponent && marked);
    if (name === "domain" && typeof member === "string") {
      yield { path: `${path}.domain`, domain: member, isProtected: below || marked };
    } else yield* domainsOf(member, `${path}.${name}`, below, false);
  }
}

describe("for every component", () => {
  test("a protected domain stays, every other becomes the target, and nothing else changes", () => {
    fc.assert(
      fc.property(anyComponent, (component) => {
        const before = [...domainsOf(component, "$", false, true)];
        const after = [...domainsOf(moved(component), "$", false, true)];

        expect(after).toEqual(
          before.map((found) => (found.isProtected ? found : { ...found, domain: "retail" })),
        );
        expect(withoutDomains(moved(component))).toEqual(withoutDomains(component));
      }),
      { numRuns: 1000 },
    );
  });

  test("replacing twice is replacing once, and the input is left alone", () => {
    fc.assert(
      fc.property(anyComponent, (component) => {
        const copy = structuredClone(component);

        expect(moved(moved(component))).toEqual(moved(component));
        expect(component).toEqual(copy);
      }),
    );
  });
});

function withoutDomains(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutDomains);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      name === "domain" && typeof member === "string" ? "" : withoutDomains(member),
    ]),
  );
}
