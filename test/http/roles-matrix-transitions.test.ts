/**
 * Who may send what: the list of the state function, `authorize`, its explanation and the request
 * itself, for transitions of every kind, each against the model and so against each other.
 */
import { expect, test } from "vitest";
import { aWorkflow, type WorkflowBuilder } from "../support/a-workflow.ts";
import { allow, deny } from "../support/a-function.ts";
import { instancesOf, type Instances } from "../support/instances-of.ts";
import {
  callers,
  data,
  disagreements,
  forms,
  has,
  headersOf,
  mover,
  starter,
  type Caller,
  type Cell,
  type Form,
} from "../support/role-model.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";
import { between, inside } from "../support/subflows.ts";

const app = await startRuntimeForFile();

/** One transition of the kind for each form of grants. */
const forEachForm = (
  flow: WorkflowBuilder,
  add: (flow: WorkflowBuilder, form: Form) => WorkflowBuilder,
) => forms.reduce(add, flow);

const own = forEachForm(
  aWorkflow("offers").state("open").transition("touch").transition("hold", { to: "held" }),
  (flow, { name, grants }) => flow.transition(`own-${name}`, { roles: grants }),
);
const shared = forEachForm(own.state("held").transition("touch"), (flow, { name, grants }) =>
  flow
    .shared(`shared-${name}`, {
      availableIn: [{ state: "held", roles: grants }, { state: "open" }],
    })
    .shared(`both-${name}`, {
      roles: [deny("guest")],
      availableIn: [{ state: "held", roles: grants }],
    }),
);

const child = forEachForm(
  aWorkflow("inner").state("waiting").transition("touch"),
  (flow, { name, grants }) =>
    flow
      .transition(`forwarded-${name}`, { roles: grants })
      .transition(`replaced-${name}`, { roles: [allow("no such role")] })
      .transition(`opened-${name}`, { roles: grants })
      .transition(`kept-${name}`),
);
const replaced = Object.fromEntries(
  forms.flatMap(({ name, grants }) => [
    [`replaced-${name}`, { roles: grants }],
    [`opened-${name}`, { roles: [] }],
  ]),
);
const parent = forEachForm(
  aWorkflow("outer")
    .state("draft")
    .transition("enter", { to: "within" })
    .state(
      "within",
      inside("inner", {
        mapping: between("return { Data: context.Instance.Data };"),
        overrides: { transitions: replaced },
      }),
    )
    .shared("touch-outer"),
  (flow, { name, grants }) => flow.shared(`kept-${name}`, { roles: grants }),
);

const special = ({ name, grants }: Form) =>
  aWorkflow(`special-${name}`)
    .state("open")
    .transition("touch")
    .state("gone", { type: "finish", subType: "cancelled" })
    .cancel("drop", { to: "gone", roles: grants })
    .exit("leave", { to: "gone", availableIn: [{ state: "open", roles: grants }] })
    .updateData("amend", { roles: grants });

await app.publish(shared, child, parent, ...forms.map(special));
const offers = instancesOf(app, "offers");
const outers = instancesOf(app, "outer");

interface Kind {
  kind: string;
  flows: (form: Form) => Instances;
  /** A new instance, moved last by `mover` wherever a grant may look. */
  begin: (flows: Instances) => Promise<string>;
  touches: string[];
  keyFor: (form: Form) => string;
  /** Whether the instance is over when it was sent. */
  ends?: true;
  lets: (form: Form, caller: Caller) => boolean;
}

const byForm = (form: Form, caller: Caller) => form.lets(caller);

async function begin(flows: Instances, ...ways: string[]): Promise<string> {
  const id = await flows.begin({ attributes: data }, { headers: starter });
  for (const way of ways) await moved(flows, id, way, starter);
  return id;
}

async function moved(flows: Instances, id: string, way: string, headers = mover): Promise<void> {
  expect(await flows.send(id, way, {}, { headers })).toMatchObject({ status: 200 });
}

const ofOffers = (kind: string, ...ways: string[]) => ({
  kind,
  flows: () => offers,
  begin: (flows: Instances) => begin(flows, ...ways),
  touches: ["touch"],
});
const ofOuter = (kind: string) => ({
  kind,
  flows: () => outers,
  begin: (flows: Instances) => begin(flows, "enter"),
  // The subflow's own and its parent's.
  touches: ["touch", "touch-outer"],
  keyFor: ({ name }: Form) => `${kind}-${name}`,
});
const ofSpecial = (kind: string) => ({
  kind,
  flows: ({ name }: Form) => instancesOf(app, `special-${name}`),
  begin: (flows: Instances) => begin(flows),
  touches: ["touch"],
  keyFor: () => kind,
  lets: byForm,
});

const kinds: Kind[] = [
  { ...ofOffers("own"), keyFor: ({ name }) => `own-${name}`, lets: byForm },
  { ...ofOffers("shared, held", "hold"), keyFor: ({ name }) => `shared-${name}`, lets: byForm },
  { ...ofOffers("shared, open"), keyFor: ({ name }) => `shared-${name}`, lets: () => true },
  {
    ...ofOffers("shared with roles", "hold"),
    keyFor: ({ name }) => `both-${name}`,
    lets: (form, caller) => form.lets(caller) && !has(caller, "guest"),
  },
  { ...ofOuter("forwarded"), lets: byForm },
  { ...ofOuter("replaced"), lets: byForm },
  { ...ofOuter("opened"), lets: () => true },
  { ...ofOuter("kept"), lets: byForm },
  ofSpecial("amend"),
  { ...ofSpecial("drop"), ends: true },
  { ...ofSpecial("leave"), ends: true },
];

async function listed(flows: Instances, id: string, caller: Caller): Promise<Set<string>> {
  const { status, body } = await app.get(`${flows.path}/${id}/functions/state`, headersOf(caller));
  expect(status).toBe(200);
  const { availableTransitions } = body as { availableTransitions: { key: string }[] };
  return new Set(availableTransitions.map(({ key }) => key));
}

interface Explained {
  allowed: boolean;
  checks: { allowed: boolean }[];
}

/** What `authorize` answers, and what it says when it is to explain. */
async function authorized(flows: Instances, id: string, key: string, caller: Caller) {
  const path = `${flows.path}/${id}/functions/authorize?transitionKey=${key}`;
  const plain = await app.get(path, headersOf(caller));
  const explained = await app.get(`${path}&explain=true`, headersOf(caller));
  const got = plain.status === 200;
  expect(plain).toMatchObject({ status: got ? 200 : 403, body: { allowed: got } });
  const { allowed, checks } = explained.body as Explained;
  expect(explained.status).toBe(allowed ? 200 : 403);
  expect(checks.every((check) => check.allowed)).toBe(allowed);
  return { got, explained: allowed };
}

test.for(kinds)(
  "$kind: list, authorize, explanation and request are as the model says",
  { timeout: 120_000 },
  async ({ kind, flows: flowsOf, begin: start, touches, keyFor, ends = false, lets }) => {
    const cells: Cell[] = [];
    const touched = async (flows: Instances, id: string) => {
      for (const way of touches) await moved(flows, id, way);
    };
    let at: { flows: Instances; id: string; lists: Set<string>[] } | undefined;
    for (const form of forms) {
      const flows = flowsOf(form);
      if (at?.flows.path !== flows.path) {
        const id = await start(flows);
        await touched(flows, id);
        const lists = await Promise.all(callers.map((caller) => listed(flows, id, caller)));
        at = { flows, id, lists };
      }
      const key = keyFor(form);
      const { id, lists } = at;
      const answers = await Promise.all(
        callers.map((caller) => authorized(flows, id, key, caller)),
      );
      let sendTo = id;
      for (const [i, caller] of callers.entries()) {
        const expected = lets(form, caller);
        const sent = await flows.send(sendTo, key, {}, { headers: headersOf(caller) });
        if (sent.status !== 200) expect(sent.status).toBe(403);
        if (sent.status === 200) {
          if (ends) sendTo = await start(flows);
          // Whoever moved it is the previous user now, which is not what the next cell is about.
          await touched(flows, sendTo);
        }
        const verdicts = {
          list: lists[i]!.has(key),
          authorize: answers[i]!.got,
          explanation: answers[i]!.explained,
          request: sent.status === 200,
        };
        for (const [surface, got] of Object.entries(verdicts)) {
          cells.push({ surface: `${surface}, ${kind}`, form, caller, expected, got });
        }
      }
    }

    expect(cells).toHaveLength(forms.length * callers.length * 4);
    expect(disagreements(cells)).toEqual([]);
  },
);

/** What a grant may find in a request for `key` of the instance that is called `routed`. */
const inRequests: Record<string, (key: string) => string> = {
  "RouteValues.instance": () => "routed",
  "RouteValues.workflow": () => "requests",
  "RouteValues.domain": () => "core",
  "RouteValues.transitionKey": (key) => key,
  "Transition.Key": (key) => key,
};

test("grants that look at the request see the same one from every surface", async () => {
  const paths = Object.keys(inRequests);
  const keyOf = (path: string) => `by-${path.replace(".", "-").toLowerCase()}`;
  await app.publish(
    paths.reduce(
      (flow, path) => flow.transition(keyOf(path), { roles: [allow(`$user.$.context.${path}`)] }),
      aWorkflow("requests").state("open"),
    ),
  );
  const flows = instancesOf(app, "requests");
  await flows.begin({ key: "routed", attributes: {} });

  for (const path of paths) {
    const key = keyOf(path);
    for (const actor of [inRequests[path]!(key), "somebody else"]) {
      const caller = { name: actor, actor };
      const expected = actor !== "somebody else";
      const list = await listed(flows, "routed", caller);
      const answer = await authorized(flows, "routed", key, caller);
      const sent = await flows.send("routed", key, {}, { headers: headersOf(caller) });

      const verdicts = [list.has(key), answer.got, answer.explained, sent.status === 200];
      expect([path, actor, ...verdicts]).toEqual([path, actor, ...verdicts.map(() => expected)]);
    }
  }
});
