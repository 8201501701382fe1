import { expect, onTestFinished, test } from "vitest";
import { createDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startEffects } from "./effects.ts";
import { journey } from "./journey.ts";
import { startNode } from "./node-process.ts";
import { auditOf, rowsOf, unfinished } from "./promises.ts";
import { publish } from "./publish.ts";

const path = "/api/v1/core/workflows/journey/instances";

const send = async (method: string, url: string) => {
  const answer = await fetch(url, {
    method,
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  return { status: answer.status, body: (await answer.json()) as { id: string; status: string } };
};

test(
  "a node that was paused while another took its work over can write nothing when it wakes up",
  { timeout: 300_000 },
  async () => {
    const { url: databaseUrl, drop } = await createDatabase();
    onTestFinished(drop);
    const effects = await startEffects(onTestFinished);
    const start = () => startNode({ databaseUrl, effectUrl: effects.url, atEnd: onTestFinished });
    const [first, second] = await Promise.all([start(), start()]);
    await publish(first.url, journey);
    const begin = async () => (await send("POST", `${first.url}${path}/start?sync=true`)).body.id;
    const [queued, waitedFor] = [await begin(), await begin()];
    effects.hold();
    await send("PATCH", `${first.url}${path}/${queued}/transitions/call?sync=false`);
    const waiting = send("PATCH", `${first.url}${path}/${waitedFor}/transitions/call?sync=true`);
    await eventually(() => expect(effects.all).toHaveLength(2));

    first.signal("SIGSTOP");
    effects.answerNew();
    await eventually(async () => expect(await unfinished(databaseUrl)).toEqual([]));
    effects.release();
    first.signal("SIGCONT");

    // Its caller is told what the other node has made of it.
    expect(await waiting).toMatchObject({ status: 200, body: { id: waitedFor, status: "A" } });
    for (const instance of [queued, waitedFor]) {
      const keys = effects.of(instance).map((effect) => effect.key);
      expect(keys).toEqual([keys[0], keys[0]]);
      const note = `${first.url}${path}/${instance}/transitions/note?sync=true`;
      expect(await send("PATCH", note)).toMatchObject({ status: 200, body: { status: "A" } });
      const made = await rowsOf(
        databaseUrl,
        "select transition_key as made from transition_record where instance_id = $1 order by seq",
        [instance],
      );
      expect(made).toEqual([{ made: "start" }, { made: "call" }, { made: "note" }]);
    }
    await eventually(async () => expect(await unfinished(databaseUrl)).toEqual([]));
    expect(await auditOf(databaseUrl)).toEqual([]);
    expect(second.log()).not.toContain('"level":"error"');
  },
);
