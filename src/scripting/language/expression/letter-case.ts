/**
 * Upper and lower case as .NET's invariant culture has them: one character for one character.
 * JavaScript's own mapping turns `ß` into `SS` and the Turkish `ı` into `I`; keys and codes that
 * were made by either system must come out the same.
 */
export const upperCase = (text: string): string => mapped(text, (letter) => letter.toUpperCase());
export const lowerCase = (text: string): string => mapped(text, (letter) => letter.toLowerCase());

/** How many letters have to be looked at one by one. */
export const strangeLetters = (text: string): number => text.replaceAll(asciiRun, "").length;

const mapped = (text: string, change: (text: string) => string): string =>
  text.replaceAll(runOrLetter, (part) => {
    const changed = change(part);
    if (part.charCodeAt(0) < 128) return changed;
    return changed.length !== part.length || changed.charCodeAt(0) < 128 ? part : changed;
  });

// oxlint-disable-next-line no-control-regex
const asciiRun = /[\0-\x7f]+/g;
// oxlint-disable-next-line no-control-regex
const runOrLetter = /[\0-\x7f]+|[^\0-\x7f]/gu;
