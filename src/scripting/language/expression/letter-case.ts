/**
 * Upper and lower case as .NET's invariant culture has them: one character for one character.
 * JavaScript's own mapping turns `ß` into `SS` and the Turkish `ı` into `I`; keys and codes that
 * were made by either system must come out the same.
 */
export const upperCase = (text: string): string => mapped(text, (letter) => letter.toUpperCase());
export const lowerCase = (text: string): string => mapped(text, (letter) => letter.toLowerCase());

function mapped(text: string, change: (text: string) => string): string {
  if (isAscii(text)) return change(text);
  let result = "";
  for (const letter of text) {
    const changed = change(letter);
    const kept = changed.length !== letter.length || (!isAscii(letter) && isAscii(changed));
    result += kept ? letter : changed;
  }
  return result;
}

// eslint-disable-next-line no-control-regex
const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text);
