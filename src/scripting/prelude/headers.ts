/** Request headers: a plain object with lower-case names, and a look-up that ignores case. */
import { isObject, setOwn } from "./json.ts";
import { textFrom } from "./text.ts";

export type HeaderMap = Readonly<Record<string, string | undefined>> & {
  /** The header's value, whatever the case of the name. */
  get(name: string): string | undefined;
};

/** On the prototype, so that spreading and JSON see the headers alone. */
const headerMethods = {
  get(this: Record<string, string>, name: string): string | undefined {
    const key = textFrom(name).toLowerCase();
    return Object.hasOwn(this, key) ? this[key] : undefined;
  },
};

export function toHeaderMap(headers: unknown): HeaderMap | null {
  if (!isObject(headers)) return null;
  const map = Object.create(headerMethods) as HeaderMap;
  for (const name of Object.keys(headers)) setOwn(map, name.toLowerCase(), headers[name]);
  return map;
}

export const isHeaderMap = (value: object): value is HeaderMap =>
  Object.getPrototypeOf(value) === headerMethods;
