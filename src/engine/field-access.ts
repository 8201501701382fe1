/**
 * Who may see which part of an instance's data: `x-roles` (older name `roles`) takes a part away,
 * `x-masking` shows it masked. Both stand on subschemas of the master schema; they are compiled once
 * per version of it.
 *
 * A rule holds wherever its subschema may apply. Which branch of an `anyOf` or an `if` a value takes
 * is not asked: the rules of all of them hold, so that no value can slip out by taking another one.
 */
import { normaliseRoles } from "./definition/normalise-parts.ts";
import type { RoleGrant } from "./definition/model.ts";
import { isJsonObject, setMember, type JsonObject, type JsonValue } from "./exact-json.ts";
import { isExempt, isExemptForAny, maskValue, readMasking, type Masking } from "./field-masking.ts";
import { isSchemaObject, type SchemaNode } from "./json-schema/nodes.ts";
import { schemaGraph, type SchemaGraph } from "./json-schema/schema-graph.ts";
import { rolesAllow, rolesAllowForAny, type RoleCaller } from "./role-gate.ts";

export interface FieldAccess {
  /** What of the data, or of a part that was merged into it, the caller may see. */
  visible(data: JsonValue | undefined, caller: RoleCaller): JsonValue | undefined;
  /** Names the rules that change what this caller sees; empty when all of it is shown as it is. */
  signature(caller: RoleCaller): string;
  /** Whether the caller sees this path, and all below it, as it is: in any instance. */
  isOpen(path: readonly string[], caller: RoleCaller): boolean;
  /** The schema without the properties that the caller may not see. */
  visibleSchema(caller: RoleCaller): JsonValue;
  /** Every grant that is asked, to find out what has to be known about the caller. */
  readonly grants: readonly RoleGrant[];
}

interface Rule {
  readonly place: string;
  readonly masking: Masking | undefined;
  /** Each set must let the caller through. */
  readonly roles: readonly (readonly RoleGrant[])[];
}

/** Undefined when the schema has no rule: everybody sees everything. */
export function compileFieldAccess(schema: unknown): FieldAccess | undefined {
  if (!isSchemaObject(schema)) return undefined;
  const graph = schemaGraph(schema);
  const ruled = new Map(graph.nodes.flatMap((node) => ruleOf(node)));
  if (ruled.size === 0) return undefined;
  const rules = [...ruled.values()];
  const places = createPlaces(graph, ruled);
  const root = places.of([graph.root]);
  return {
    visible: (data, caller) =>
      data === undefined ? undefined : show(data, root, createJudge(caller)),
    signature(caller) {
      const judge = createJudge(caller);
      return rules.flatMap((rule) => judge.effectOf(rule) ?? []).join("\n");
    },
    isOpen: (path, caller) => places.along(path).every((rule) => isOpenToAny(rule, caller)),
    visibleSchema(caller) {
      const judge = createJudge(caller);
      const isHidden = (property: SchemaNode) =>
        places.of([property])?.rules.some((rule) => judge.hides(rule)) === true;
      return withoutHidden(schema as JsonObject, graph.nodeOf, isHidden);
    },
    grants: rules.flatMap(({ roles, masking }) => [...roles.flat(), ...(masking?.exempt ?? [])]),
  };
}

const isOpenToAny = ({ roles, masking }: Rule, caller: RoleCaller): boolean =>
  roles.every((grants) => rolesAllowForAny(grants, caller)) &&
  (masking === undefined || isExemptForAny(masking, caller));

interface Judge {
  hides(rule: Rule): boolean;
  masks(rule: Rule): boolean;
  effectOf(rule: Rule): string | undefined;
}

/** Decides each rule once: grants may look up paths in the data. */
function createJudge(caller: RoleCaller): Judge {
  const hidden = new Map<Rule, boolean>();
  const masked = new Map<Rule, boolean>();
  const hides = (rule: Rule) =>
    remember(hidden, rule, () => !rule.roles.every((grants) => rolesAllow(grants, caller)));
  const masks = (rule: Rule) =>
    remember(masked, rule, () => rule.masking !== undefined && !isExempt(rule.masking, caller));
  return {
    hides,
    masks,
    effectOf(rule) {
      if (hides(rule)) return `-${rule.place}`;
      return masks(rule) ? `*${rule.place}` : undefined;
    },
  };
}

function remember<K, V>(known: Map<K, V>, key: K, find: () => V): V {
  const before = known.get(key);
  if (before !== undefined) return before;
  const found = find();
  known.set(key, found);
  return found;
}

/** The value itself when nothing in it is changed: its text is made once. */
function show(value: JsonValue, place: Place | undefined, judge: Judge): JsonValue | undefined {
  if (place === undefined) return value;
  if (place.rules.some((rule) => judge.hides(rule))) return undefined;
  const masking = place.rules.find((rule) => judge.masks(rule))?.masking;
  if (masking !== undefined) return maskValue(value, masking);
  if (Array.isArray(value)) return showList(value, place, judge);
  return isJsonObject(value) ? showObject(value, place, judge) : value;
}

function showList(list: JsonValue[], place: Place, judge: Judge): JsonValue[] {
  const shown = list.map((item, i) => show(item, place.item(i), judge));
  return shown.every((item, i) => item === list[i])
    ? list
    : shown.filter((item) => item !== undefined);
}

function showObject(object: JsonObject, place: Place, judge: Judge): JsonObject {
  const shown: JsonObject = {};
  let isChanged = false;
  for (const [name, member] of Object.entries(object)) {
    const visible = show(member, place.member(name), judge);
    isChanged ||= visible !== member;
    if (visible !== undefined) setMember(shown, name, visible);
  }
  return isChanged ? shown : object;
}

/** The subschemas that may apply to one value, with the rules on them. */
interface Place {
  readonly rules: readonly Rule[];
  /** Undefined: nothing there or below has a rule. */
  member(name: string): Place | undefined;
  item(index: number): Place | undefined;
}

/** Data may have any number of names; those of a schema are few. */
const mostKept = 1000;

function keeping<K, V>(find: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>();
  return (key) => {
    if (known.has(key)) return known.get(key) as V;
    const found = find(key);
    if (known.size < mostKept) known.set(key, found);
    return found;
  };
}

interface Places {
  of(nodes: readonly SchemaNode[]): Place | undefined;
  /** The rules on a dotted path of a query, which also reaches into lists, and on everything below. */
  along(path: readonly string[]): readonly Rule[];
}

/** Made as the data asks for them, each once: a recursive schema has no end of its own. */
function createPlaces(graph: SchemaGraph, rules: ReadonlyMap<SchemaNode, Rule>): Places {
  const leadsToRule = graph.leadingTo([...rules.keys()]);
  const known = new Map<string, Place>();

  const of = (start: readonly SchemaNode[]): Place | undefined => {
    const nodes = graph.together(start).filter((node) => leadsToRule.has(node));
    if (nodes.length === 0) return undefined;
    const id = nodes.map((node) => graph.idOf(node)).join();
    return remember(known, id, () => {
      // From this position on all items are alike.
      const rest = Math.max(...nodes.map((node) => graph.positions(node)));
      const item = keeping((index: number) =>
        of(nodes.flatMap((node) => graph.items(node, index))),
      );
      return {
        rules: rulesOf(nodes),
        member: keeping((name: string) => of(nodes.flatMap((node) => graph.members(node, name)))),
        item: (index) => item(Math.min(index, rest)),
      };
    });
  };

  const rulesOf = (nodes: readonly SchemaNode[]) => nodes.flatMap((node) => rules.get(node) ?? []);

  return {
    of,
    along(path) {
      let nodes = graph.together([graph.root]);
      const found = [...rulesOf(nodes)];
      for (const name of path) {
        const holders = graph.withItems(nodes);
        found.push(...rulesOf(holders));
        nodes = graph.together(holders.flatMap((node) => graph.members(node, name)));
        found.push(...rulesOf(nodes));
      }
      return [...found, ...rulesOf(graph.below(nodes))];
    },
  };
}

function ruleOf(node: SchemaNode): [SchemaNode, Rule][] {
  const { "x-roles": current, roles: older, "x-masking": masking } = node.schema;
  // `roles` is a word that others use too; it is ours when it holds grants.
  const isGrants =
    Array.isArray(older) && older.some((item) => isSchemaObject(item) && "grant" in item);
  const roles = [...readGrants(current), ...(isGrants ? readGrants(older) : [])];
  const isMasked = masking !== undefined && masking !== null;
  if (roles.length === 0 && !isMasked) return [];
  const place = node.path.join(".");
  return [[node, { place, roles, masking: isMasked ? readMasking(masking) : undefined }]];
}

/** What is no list of grants hides: nobody could say whom it meant to let see. */
function readGrants(value: unknown): (readonly RoleGrant[])[] {
  if (value === undefined || value === null) return [];
  const grants = normaliseRoles(value);
  const isComplete = Array.isArray(value) && grants.length === value.length;
  if (!isComplete) return [[{ grant: "allow", match: "any", roles: [] }]];
  return grants.length === 0 ? [] : [grants];
}

function withoutHidden(
  value: JsonValue,
  nodeOf: (schema: unknown) => SchemaNode | undefined,
  isHidden: (property: SchemaNode) => boolean,
): JsonValue {
  const copy = (item: JsonValue) => withoutHidden(item, nodeOf, isHidden);
  if (Array.isArray(value)) return value.map(copy);
  if (!isJsonObject(value)) return value;
  const { properties } = value;
  const hidden =
    nodeOf(value) === undefined || !isJsonObject(properties)
      ? []
      : Object.keys(properties).filter((name) => {
          const node = nodeOf(properties[name]);
          return node !== undefined && isHidden(node);
        });
  const shown: JsonObject = {};
  for (const [keyword, member] of Object.entries(value)) {
    if (hidden.length === 0) setMember(shown, keyword, copy(member));
    else if (keyword === "properties") setMember(shown, keyword, copy(without(member, hidden)));
    else if (keyword === "required" && Array.isArray(member)) {
      setMember(
        shown,
        keyword,
        member.filter((name) => typeof name !== "string" || !hidden.includes(name)),
      );
    } else setMember(shown, keyword, copy(member));
  }
  return shown;
}

function without(map: JsonValue, names: readonly string[]): JsonObject {
  const kept: JsonObject = {};
  for (const [name, member] of Object.entries(map as JsonObject)) {
    if (!names.includes(name)) setMember(kept, name, member);
  }
  return kept;
}
