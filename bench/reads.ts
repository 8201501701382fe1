/** Reading one instance, whole and unchanged (304). */
import { median, rounds, seconds, table } from "./figures.ts";
import { load, request } from "./load.ts";
import { anyOf, instancesPath, startInstances, type Subject } from "./subject.ts";

export async function reads(subject: Subject): Promise<void> {
  const ids = await startInstances(subject, 1000);
  const etags = new Map<string, string>();
  for (const id of ids) {
    const answer = await fetch(`${subject.url}${instancesPath}/${id}`);
    await answer.arrayBuffer();
    etags.set(id, answer.headers.get("etag") ?? "");
  }
  const whole = () => request("GET", `${instancesPath}/${anyOf(ids)}`);
  const unchanged = () => {
    const id = anyOf(ids);
    return request(
      "GET",
      `${instancesPath}/${id}`,
      undefined,
      `if-none-match: ${etags.get(id)}\r\n`,
    );
  };
  await load({ port: subject.port, connections: 32, seconds, next: whole });
  const rates = { whole: [] as number[], unchanged: [] as number[], trivial: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    const slot = { port: subject.port, connections: 32, seconds, good: [200, 304] };
    rates.whole.push((await load({ ...slot, next: whole })).perSecond);
    rates.unchanged.push((await load({ ...slot, next: unchanged })).perSecond);
    rates.trivial.push((await load({ ...slot, next: () => request("GET", "/version") })).perSecond);
  }
  const trivialRate = median(rates.trivial);
  table(
    ["GET, 32 clients", "per s", "of a trivial GET"],
    [
      ["instance", median(rates.whole).toFixed(0), (median(rates.whole) / trivialRate).toFixed(2)],
      [
        "instance, 304",
        median(rates.unchanged).toFixed(0),
        (median(rates.unchanged) / trivialRate).toFixed(2),
      ],
      ["/version", trivialRate.toFixed(0), "1.00"],
    ],
  );
}
