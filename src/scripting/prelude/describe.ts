/** A value in a sentence of an error: what it is, and enough of it to recognise it. */
export function describe(value: unknown): string {
  if (value === null) return "null";
  switch (typeof value) {
    case "undefined":
      return "nothing";
    case "string":
      return `the text '${shortened(value)}'`;
    case "number":
    case "bigint":
      return `the number ${value}`;
    case "boolean":
      return String(value);
    case "symbol":
      return "a symbol";
    case "function":
      return value.name === "" ? "a function" : `the function '${shortened(value.name)}'`;
    default:
      return Array.isArray(value) ? "an array" : anObject(value);
  }
}

function anObject(value: object): string {
  const names = Object.keys(value).slice(0, 5);
  return names.length === 0 ? "an object" : `an object with ${names.map(shortened).join(", ")}`;
}

const shortened = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);
