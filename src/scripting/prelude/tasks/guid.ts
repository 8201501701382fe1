const guid =
  /^[{(]?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})[)}]?$/i;

/** The usual spelling of a GUID, whatever dress it came in; `undefined` for any other text. */
export function readGuid(text: string): string | undefined {
  const parts = guid.exec(text.trim());
  return parts === null ? undefined : parts.slice(1).join("-").toLowerCase();
}
