/** A text from whatever a script passed where one was asked for; null and undefined are empty. */
export const textFrom = (value: unknown): string => `${(value ?? "") as string}`;
