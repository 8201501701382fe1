import { describe, expect, test } from "vitest";
import type { StateSubType, StateType } from "../../src/engine/definition/enumerations.ts";
import { aWorkflow } from "../support/a-workflow.ts";
import { codeOf, instancesOf, movesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();

describe("a state's types are shown as words:", () => {
  const types: [StateType | number, StateSubType | number, string, string, string][] = [
    ["intermediate", "none", "intermediate", "none", "A"],
    ["intermediate", "human", "intermediate", "human", "A"],
    ["intermediate", "suspended", "intermediate", "suspended", "A"],
    ["intermediate", "busy", "intermediate", "busy", "B"],
    ["wizard", "none", "wizard", "none", "A"],
    ["finish", "success", "finish", "success", "C"],
    ["finish", "error", "finish", "error", "C"],
    ["finish", "terminated", "finish", "terminated", "C"],
    ["finish", "cancelled", "finish", "cancelled", "C"],
    ["finish", "timeout", "finish", "timeout", "C"],
    [2, 6, "intermediate", "human", "A"],
    [3, 7, "finish", "cancelled", "C"],
    [5, 0, "wizard", "none", "A"],
  ];

  test.each(types)("%s/%s is %s and %s, status %s", async (type, subType, word, sub, status) => {
    const key = `w-${type}-${subType}`.toLowerCase();
    await app.publish(
      aWorkflow(key)
        .state("first")
        .transition("go", { to: "target" })
        .state("target", { type: type as StateType, subType: subType as StateSubType })
        .transition("on", {}),
    );
    const instances = instancesOf(app, key);
    const id = await instances.begin();

    const answer = await instances.send(id, "go");

    expect(answer.body).toMatchObject({ status });
    expect((await instances.read(id)).metadata).toMatchObject({
      status,
      currentState: "target",
      effectiveState: "target",
      currentStateType: word,
      currentStateSubType: sub,
      effectiveStateType: word,
      effectiveStateSubType: sub,
    });
    expect((await instances.history(id))[1]).toMatchObject({
      toState: "target",
      effectiveState: "target",
      effectiveStateType: word,
      effectiveStateSubType: sub,
    });
  });
});

test("the initial state's words are shown from the start", async () => {
  await app.publish(aWorkflow("fresh").state("first", { subType: "human" }));
  const fresh = instancesOf(app, "fresh");

  const { metadata } = await fresh.read(await fresh.begin());

  expect(metadata).toMatchObject({
    currentStateType: "initial",
    currentStateSubType: "human",
    effectiveStateType: "initial",
  });
});

test("a wizard waits for its one transition like any other state", async () => {
  await app.publish(
    aWorkflow("wizard")
      .state("first")
      .transition("go", { to: "page" })
      .state("page", { type: "wizard" })
      .transition("next", { to: "done" })
      .state("done", { type: "finish" }),
  );
  const wizards = instancesOf(app, "wizard");
  const id = await wizards.begin();

  expect(await wizards.send(id, "go")).toMatchObject({ body: { status: "A" } });
  expect(await wizards.send(id, "next")).toMatchObject({ body: { status: "C" } });
});

test("$self leaves the state and enters it again: a record, no move", async () => {
  await app.publish(
    aWorkflow("self").state("first").transition("again", {}).transition("named", { to: "first" }),
  );
  const selves = instancesOf(app, "self");
  const id = await selves.begin({ n: 0 });

  await selves.send(id, "again", { n: 1 });
  const answer = await selves.send(id, "named", { n: 2 });

  expect(answer).toMatchObject({ body: { status: "A", attributes: { n: 2 } } });
  expect(movesOf(await selves.history(id))).toEqual([
    "start: first-first",
    "again: first-first",
    "named: first-first",
  ]);
});

test("a finish state has nothing more to offer, not even its own transitions", async () => {
  await app.publish(
    aWorkflow("ended")
      .state("first")
      .transition("go", { to: "end" })
      .state("end", { type: "finish" })
      .transition("auto", { to: "first", rule: "true" }),
  );
  const ended = instancesOf(app, "ended");
  const id = await ended.begin();

  const answer = await ended.send(id, "go");

  expect(answer).toMatchObject({ body: { status: "C" } });
  expect(await ended.history(id)).toHaveLength(2);
  expect(codeOf(await ended.send(id, "go"))).toBe("400 validation.Instance:100018");
});

test("the same key may lead elsewhere from each state", async () => {
  await app.publish(
    aWorkflow("same-key")
      .state("a")
      .transition("next", { to: "b" })
      .state("b")
      .transition("next", { to: "c" })
      .state("c"),
  );
  const same = instancesOf(app, "same-key");
  const id = await same.begin();

  await same.send(id, "next");
  await same.send(id, "next");

  expect((await same.read(id)).metadata.currentState).toBe("c");
});
