import { describe, expect, test } from "vitest";
import { contextMembers, type ContextMember } from "../../../src/scripting/contract.ts";
import { createContext } from "../../../src/scripting/prelude/context.ts";

const contextOf = (context: object, members?: ContextMember[]) =>
  createContext({ context, ...(members === undefined ? {} : { members }) }).context;

test("members that the host has nothing for are null or empty", () => {
  expect({ ...contextOf({}) }).toMatchObject({
    Body: null,
    Headers: null,
    QueryParameters: null,
    RouteValues: null,
    RawBody: null,
    EventPayload: null,
    Instance: null,
    Workflow: null,
    Transition: null,
    CurrentTransition: null,
    TaskResponse: {},
    OutputResponse: {},
    MetaData: {},
    Definitions: {},
    Runtime: null,
    Incident: null,
    Related: { HasParent: false },
    Mutations: { Stage: null, HasStageChange: false, HasChanges: false },
  });
});

test("members that the host sends are there as they were sent", () => {
  const sent = {
    Body: { a: [1] },
    QueryParameters: { q: "1" },
    RouteValues: { id: "7" },
    RawBody: "{}",
    EventPayload: { e: 1 },
    Transition: { Key: "approve", From: "a", Target: "b" },
    TaskResponse: { callIt: { data: 1 } },
    OutputResponse: { shape: 1 },
    Definitions: { d: 1 },
    Runtime: { Domain: "loans", Version: "1.0.0" },
    Incident: { HasActiveIncident: true, ActiveIncident: { code: "x" }, TotalIncidentCount: 2 },
  };

  expect(contextOf(sent)).toMatchObject(sent);
});

describe("Headers", () => {
  const { Headers } = contextOf({ Headers: { Authorization: "x", "x-id": "1" } });

  test("have lower-case names and a look-up without regard to case", () => {
    expect(Headers?.["authorization"]).toBe("x");
    expect(Headers?.get("AUTHORIZATION")).toBe("x");
    expect([Headers?.["missing"], Headers?.get("toString")]).toEqual([undefined, undefined]);
  });

  test("are plain when copied", () => {
    expect({ ...Headers }).toEqual({ authorization: "x", "x-id": "1" });
    expect(JSON.stringify(Headers)).toBe('{"authorization":"x","x-id":"1"}');
  });

  test("of the current transition are the same kind", () => {
    const { CurrentTransition } = contextOf({ CurrentTransition: { Data: 1, Header: { A: "b" } } });

    expect(CurrentTransition?.Header?.get("a")).toBe("b");
    expect(CurrentTransition?.Data).toBe(1);
  });
});

describe("Instance", () => {
  const stored = {
    Id: "i-1",
    Key: "L-1",
    Flow: "loan",
    FlowVersion: "1.0.0",
    Data: { amount: 5 },
    LatestData: { Id: "d-1", Version: "1.0.1" },
    CurrentState: "review",
    Status: "A",
    Tags: ["vip"],
    Decrypted: { "person.tckn": "123" },
  };
  const instanceOf = (changes: object = {}) =>
    contextOf({ Instance: { ...stored, ...changes } }).Instance!;

  test.each([
    ["A", { IsActive: true, IsBusy: false, IsCompleted: false }],
    ["B", { IsActive: false, IsBusy: true, IsCompleted: false }],
    ["C", { IsActive: false, IsBusy: false, IsCompleted: true }],
    ["F", { IsActive: false, IsBusy: false, IsCompleted: true }],
    ["P", { IsActive: false, IsBusy: false, IsCompleted: true }],
  ])("status %s", (Status, predicates) => {
    expect(instanceOf({ Status })).toMatchObject({
      Status,
      EffectiveStatus: Status,
      ...predicates,
    });
  });

  test.each([
    ["R", { IsSubFlow: false, IsSubItem: false }],
    ["S", { IsSubFlow: true, IsSubItem: true }],
    ["P", { IsSubFlow: false, IsSubItem: true }],
  ])("type %s", (Type, predicates) => {
    expect(instanceOf({ Type })).toMatchObject({ Type, ...predicates });
  });

  test("has every member of the contract", () => {
    expect(instanceOf()).toMatchObject({
      Id: "i-1",
      Key: "L-1",
      HasKey: true,
      Flow: "loan",
      FlowVersion: "1.0.0",
      Data: { amount: 5 },
      LatestData: { Id: "d-1", Version: "1.0.1", Data: { amount: 5 } },
      CurrentState: "review",
      CurrentStateType: null,
      EffectiveState: "review",
      Stage: null,
      Type: "R",
      HasActiveSubFlow: false,
      Tags: ["vip"],
      CreatedAt: null,
      CompletedAt: null,
      Duration: null,
      CreatedBy: null,
      ExtraProperties: {},
      HasActiveIncident: false,
      ActiveCorrelations: [],
    });
    expect(instanceOf({ Key: null })).toMatchObject({ Key: null, HasKey: false });
    expect(instanceOf({ Data: null, LatestData: null }).LatestData).toBeNull();
  });

  test("an open subflow shows", () => {
    const open = [{ SubFlowType: "S", IsCompleted: false }];

    expect(instanceOf({ ActiveCorrelations: open }).HasActiveSubFlow).toBe(true);
    expect(instanceOf({ ActiveCorrelations: [{ SubFlowType: "P" }] }).HasActiveSubFlow).toBe(false);
  });

  test("DecryptAsync opens what the host opened, and null is anything else", async () => {
    const instance = instanceOf();

    expect(await instance.DecryptAsync("person.tckn")).toBe("123");
    expect(await instance.DecryptAsync("person.name")).toBeNull();
    expect(JSON.stringify(instance)).not.toContain("123");
  });
});

const sub = (InstanceId: string, Flow: string) => ({ InstanceId, Flow });
const related = (data: object) => contextOf({ Related: data }).Related;

describe("Related", () => {
  test("answers from what the host has read", async () => {
    const accessor = related({
      Parent: sub("p", "order"),
      Subs: [sub("1", "pay"), sub("2", "ship"), sub("3", "pay")],
    });

    expect(accessor.HasParent).toBe(true);
    expect(await accessor.ParentAsync()).toMatchObject({ InstanceId: "p" });
    expect(await accessor.SubKeysAsync()).toEqual(["pay", "ship"]);
    expect(await accessor.SubAsync("pay")).toMatchObject({ InstanceId: "3" });
    expect(await accessor.SubAsync("none")).toBeNull();
    expect((await accessor.SubsAsync("pay")).map((view) => view.InstanceId)).toEqual(["1", "3"]);
    expect(await accessor.SubsAsync()).toHaveLength(3);
  });

  test("absence is null and empty", async () => {
    const { Related } = contextOf({});

    expect([await Related.ParentAsync(), await Related.SubsAsync()]).toEqual([null, []]);
  });

  test("ten different questions are answered, as often as one likes; the eleventh is not", async () => {
    const accessor = related({});
    for (let i = 0; i < 30; i += 1) await accessor.SubAsync(`flow-${i % 10}`);

    await expect(accessor.ParentAsync()).rejects.toThrow(
      expect.objectContaining({ name: "RelatedInstanceAccessException" }),
    );
  });

  test("a read that failed in the host fails here", async () => {
    await expect(related({ Error: "database is gone" }).ParentAsync()).rejects.toThrow(
      "database is gone",
    );
  });
});

test("a workflow's version is its flow version too", () => {
  expect(contextOf({ Workflow: { Key: "loan", Version: "2.0.0" } }).Workflow).toMatchObject({
    Key: "loan",
    FlowVersion: "2.0.0",
    States: [],
  });
});

test.each(contextMembers)("%s that was not sent cannot be taken for null", (member) => {
  const context = contextOf({}, []);

  expect(() => context[member]).toThrow(`context.${member} was not sent`);
  expect(() => contextOf({}, [member])[member]).not.toThrow();
});
