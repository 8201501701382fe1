/**
 * Slots for a view or a schema. Definitions write them in several forms, all of which mean an
 * ordered list of entries of which the first whose rule holds is taken:
 * a reference, `{ view }`, `[entries]`, `{ views: [entries] }`, `{ rules: [entries], default }`.
 */
import { ComponentKind } from "../component-kind.ts";
import { checkReference } from "./check-reference.ts";
import { checkScriptCode } from "./check-script-code.ts";
import { at, type Report } from "./findings.ts";
import { asObject, isPresent } from "./json.ts";

export interface SlotKind {
  readonly member: "view" | "schema";
  readonly list: "views" | "schemas";
  readonly kind: ComponentKind;
}

export const viewSlot: SlotKind = { member: "view", list: "views", kind: ComponentKind.view };
export const schemaSlot: SlotKind = {
  member: "schema",
  list: "schemas",
  kind: ComponentKind.schema,
};

/** One entry of a slot, with the path it stands at. */
export interface SlotItem {
  readonly path: string;
  readonly entry: Readonly<Record<string, unknown>>;
}

/** The entries of a slot in any of its forms, in the order they are tried. */
export function slotEntries(path: string, value: unknown, slot: SlotKind): readonly SlotItem[] {
  if (Array.isArray(value)) return listed(path, value);
  const object = asObject(value);
  if (object === undefined) return [];
  for (const name of [slot.list, "rules"]) {
    const entries = object[name];
    if (!Array.isArray(entries)) continue;
    const fallback = asObject(object["default"]);
    return [
      ...listed(at(path, name), entries),
      ...(fallback === undefined ? [] : [{ path: at(path, "default"), entry: fallback }]),
    ];
  }
  if (slot.member in object) {
    return isPresent(object[slot.member]) ? [{ path, entry: object }] : [];
  }
  // A bare reference: where it stands is also where its members are.
  return isReferenceLike(object) ? [{ path, entry: { [slot.member]: object } }] : [];
}

export function checkSlot(
  report: Report,
  path: string,
  value: unknown,
  slot: SlotKind,
  onFunction = false,
): void {
  const items = slotEntries(path, value, slot);
  for (const [i, { path: place, entry }] of items.entries()) {
    checkScriptCode(report, at(place, "rule"), entry["rule"], "code");
    const bare = entry[slot.member] === asObject(value);
    const target = bare ? place : at(place, slot.member);
    if (isPresent(entry[slot.member])) {
      checkReference(report, target, entry[slot.member], slot.kind);
    } else {
      report.mistake(target, `The entry names no ${slot.member}; add a reference to one.`);
    }
    if (!isPresent(entry["rule"]) && i < items.length - 1) sayShadowing(report, place, onFunction);
    if (onFunction && isPresent(entry["extensions"])) {
      report.mistake(
        at(place, "extensions"),
        "A function's slots load no extensions; remove 'extensions'.",
      );
    }
  }
  if (items.length === 0) checkEmpty(report, path, value, slot);
}

function sayShadowing(report: Report, path: string, onFunction: boolean): void {
  const message =
    "An entry without a rule always holds and hides those after it; move it to the end.";
  if (onFunction) report.mistake(path, message);
  else report.warning(path, message);
}

function checkEmpty(report: Report, path: string, value: unknown, slot: SlotKind): void {
  const object = asObject(value);
  if (object === undefined || slot.member in object || slot.list in object || "rules" in object) {
    return;
  }
  if (Object.keys(object).length > 0) {
    report.mistake(
      path,
      `This is no ${slot.member} slot; give a reference, '${slot.member}' or '${slot.list}'.`,
    );
  }
}

const listed = (path: string, entries: readonly unknown[]): SlotItem[] =>
  entries.flatMap((item, i) => {
    const entry = asObject(item);
    return entry === undefined ? [] : [{ path: at(path, i), entry }];
  });

const isReferenceLike = (object: Readonly<Record<string, unknown>>): boolean =>
  ["key", "id", "ref"].some((member) => isPresent(object[member]));
