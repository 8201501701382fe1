/** A job's changes as server-sent events. */
import { isFinal, type PublishJob } from "./publish-job.ts";

const quietMs = 15_000;

/** `progress` for every change, `ended` for the last; a comment keeps a quiet connection open. */
export async function* eventsOf(
  jobs: AsyncGenerator<PublishJob, void>,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  // A browser that lost the stream asks again after this while.
  yield "retry: 2000\n\n";
  let number = 0;
  let next = jobs.next();
  while (!signal.aborted) {
    const waited = await within(next, quietMs);
    if (waited === undefined) {
      yield ": still here\n\n";
      continue;
    }
    if (waited.done === true) return;
    number += 1;
    const job = waited.value;
    yield `id: ${number}\nevent: ${isFinal(job.status) ? "ended" : "progress"}\ndata: ${JSON.stringify(job)}\n\n`;
    next = jobs.next();
  }
}

async function within<T>(result: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}
