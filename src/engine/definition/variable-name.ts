/** The name a task's or extension's result has in scripts: `get-user_info` becomes `getUserInfo`. */
export function variableName(key: string): string {
  const [first = "", ...rest] = key.split(/[-_]+/).filter((part) => part !== "");
  return [
    first.charAt(0).toLowerCase() + first.slice(1),
    ...rest.map((part) => part.charAt(0).toUpperCase() + part.slice(1)),
  ].join("");
}
