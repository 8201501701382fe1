const number = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise);

export const seconds = number("BENCH_SECONDS", 3);
export const rounds = number("BENCH_ROUNDS", 3);
export const rows = number("BENCH_ROWS", 1_000_000);
export const polls = number("BENCH_POLLS", 5000);
export const streams = number("BENCH_STREAMS", 500);

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;

/** Right-aligned columns. */
export function table(
  head: readonly string[],
  lines: readonly (readonly (string | number)[])[],
): void {
  const texts = [head, ...lines.map((line) => line.map(String))];
  const widths = head.map((_, i) => Math.max(...texts.map((line) => line[i]!.length)));
  for (const line of texts) {
    console.log(line.map((text, i) => text.padStart(widths[i]!)).join("  "));
  }
}
