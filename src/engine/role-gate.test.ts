import { describe, expect, test } from "vitest";
import { anInstance, programOf } from "../../test/support/a-run.ts";
import { aWorkflow } from "../../test/support/a-workflow.ts";
import { normaliseRoles } from "./definition/normalise-parts.ts";
import {
  asksForPrevious,
  explainRoles,
  queryGrants,
  rolesAllow,
  rolesAllowForAny,
  type RoleCaller,
  type RoleRequest,
} from "./role-gate.ts";

const instance = anInstance(programOf(aWorkflow("loan").state("draft")), {
  createdBy: { actor: "starter", behalfOf: "customer" },
  data: { owner: "ann", team: { members: ["bob", "cem"], role: "approver" }, amount: 5 },
});
const nobody: RoleCaller = {
  roles: [],
  author: { actor: undefined, behalfOf: undefined },
  instance,
};
const as = (actor: string | undefined, behalfOf?: string): RoleCaller => ({
  ...nobody,
  author: { actor, behalfOf },
});
const having = (...roles: string[]): RoleCaller => ({ ...nobody, roles });

const allow = (role: string) => ({ role, grant: "allow" });
const deny = (role: string) => ({ role, grant: "deny" });

test.each<[string, object[], RoleCaller, boolean]>([
  ["no grants let everybody through", [], nobody, true],
  ["an allow lets its role through", [allow("clerk")], having("clerk"), true],
  ["a role matches in any letter case", [allow("Clerk")], having("cLERK"), true],
  ["an allow keeps others out", [allow("clerk")], having("guest"), false],
  ["an allow keeps a caller without roles out", [allow("clerk")], nobody, false],
  ["one of several allows is enough", [allow("a"), allow("b")], having("b"), true],
  ["a deny keeps its role out", [deny("guest")], having("guest"), false],
  ["a deny alone lets everybody else through", [deny("guest")], having("clerk"), true],
  ["a deny alone lets a caller without roles through", [deny("guest")], nobody, true],
  ["a deny wins over an allow", [allow("clerk"), deny("guest")], having("clerk", "guest"), false],
  ["a grant with an unknown word denies", [{ role: "x", grant: "??" }], having("x"), false],
  ["who started it, by actor", [allow("$InstanceStarter")], as("starter"), true],
  ["another actor has not started it", [allow("$InstanceStarter")], as("other"), false],
  ["an unknown actor has not started it", [allow("$InstanceStarter")], as(undefined), false],
  ["for whom it was started", [allow("$InstanceBehalfOfStarter")], as("x", "customer"), true],
  ["for another it was not", [allow("$InstanceBehalfOfStarter")], as("starter", "x"), false],
  [
    "who made the last manual transition",
    [allow("$PreviousUser")],
    { ...as("prev"), previous: { actor: "prev", behalfOf: "p" } },
    true,
  ],
  ["without a last one nobody did", [allow("$PreviousUser")], as("prev"), false],
  [
    "for whom the last one was made",
    [allow("$PreviousBehalfOfUser")],
    { ...as("x", "p"), previous: { actor: "prev", behalfOf: "p" } },
    true,
  ],
  ["a name in the data", [allow("$user.$.context.Instance.Data.owner")], as("ann"), true],
  ["another name", [allow("$user.$.context.Instance.Data.owner")], as("bob"), false],
  ["a list in the data", [allow("$user.$.context.Instance.Data.team.members")], as("cem"), true],
  [
    "a name in the data, for whom it is done",
    [allow("$userBehalfOf.$.context.Instance.Data.owner")],
    as("x", "ann"),
    true,
  ],
  [
    "a role in the data",
    [allow("$role.$.context.Instance.Data.team.role")],
    having("Approver"),
    true,
  ],
  ["the creator by path", [allow("$user.$.context.Instance.CreatedBy")], as("starter"), true],
  ["a path to nothing is nobody", [allow("$user.$.context.Instance.Data.x.y")], as("ann"), false],
  [
    "a path into a prototype is nobody",
    [allow("$user.$.context.Instance.Data.constructor.name")],
    as("Object"),
    false,
  ],
  ["a number is nobody's name", [allow("$user.$.context.Instance.Data.amount")], as("5"), false],
  [
    "all of a group",
    [{ grant: "allow", allOf: [{ role: "a" }, { role: "b" }] }],
    having("b", "a"),
    true,
  ],
  [
    "half of a group",
    [{ grant: "allow", allOf: [{ role: "a" }, { role: "b" }] }],
    having("a"),
    false,
  ],
  [
    "any of a group",
    [{ grant: "allow", anyOf: [{ role: "a" }, { role: "b" }] }],
    having("b"),
    true,
  ],
])("%s", (_, grants, caller, expected) => {
  expect(rolesAllow(normaliseRoles(grants), caller)).toBe(expected);
});

test("without an instance nobody has started it", () => {
  const grants = normaliseRoles([allow("$InstanceStarter")]);

  expect(rolesAllow(grants, { ...as("starter"), instance: undefined })).toBe(false);
});

describe("what stands in the request", () => {
  const request: RoleRequest = {
    headers: { "x-owner": "ann", "x.dotted": "ann", "x-empty": "" },
    query: { For: ["bob", "ann"] },
    route: { instance: "ann", workflow: undefined },
    transitionKey: "approver",
  };
  const asking = (caller: RoleCaller): RoleCaller => ({ ...caller, request });

  test.each<[string, RoleCaller, boolean]>([
    ["$user.$.context.Headers.X-Owner", as("ann"), true],
    ["$user.$.context.Headers.x.dotted", as("ann"), true],
    ["$user.$.context.Headers.x-owner", as("bob"), false],
    ["$user.$.context.Headers.x-other", as("ann"), false],
    ["$user.$.context.Headers.x-empty", as(""), false],
    ["$user.$.context.Headers", as("ann"), false],
    ["$user.$.context.QueryParameters.for", as("ann"), true],
    ["$userBehalfOf.$.context.RouteValues.Instance", as("x", "ann"), true],
    ["$user.$.context.RouteValues.workflow", as("ann"), false],
    ["$role.$.context.Transition.Key", having("Approver"), true],
    ["$role.$.context.Transition.Key", having("other"), false],
    ["$userBehalfOf.$.context.Instance.CreatedByBehalfOf", as("x", "customer"), true],
    ["$user.$.context.Elsewhere.x-owner", as("ann"), false],
    ["$user.$.context.Instance.Data", as("ann"), false],
  ])("%s", (role, caller, expected) => {
    expect(rolesAllow(normaliseRoles([allow(role)]), asking(caller))).toBe(expected);
  });

  test("is nothing where there is no request", () => {
    const grants = normaliseRoles([allow("$user.$.context.Headers.x-owner")]);

    expect(rolesAllow(grants, as("ann"))).toBe(false);
  });
});

describe("the explanation", () => {
  test.each<[string, object[], RoleCaller, string]>([
    ["nothing is asked", [], nobody, "noGrants"],
    ["a deny matches", [allow("a"), deny("b")], having("a", "b"), "denied"],
    ["an allow matches", [allow("a"), deny("b")], having("a"), "allowed"],
    ["no allow matches", [allow("a"), deny("b")], nobody, "noAllowMatched"],
    ["only denies, and none matches", [deny("b")], nobody, "notDenied"],
  ])("%s", (_, grants, caller, reason) => {
    const explained = explainRoles(normaliseRoles(grants), caller);

    expect(explained.reason).toBe(reason);
    expect(explained.allowed).toBe(rolesAllow(normaliseRoles(grants), caller));
  });

  test("goes through the rules in order, role by role", () => {
    const grants = normaliseRoles([
      deny("guest"),
      { grant: "allow", allOf: [{ role: "$InstanceStarter" }, { role: "boss" }] },
    ]);

    expect(explainRoles(grants, as("starter"))).toEqual({
      allowed: false,
      reason: "noAllowMatched",
      rules: [
        { grant: "deny", match: "any", matched: false, roles: [{ role: "guest", matched: false }] },
        {
          grant: "allow",
          match: "all",
          matched: false,
          roles: [
            { role: "$InstanceStarter", matched: true },
            { role: "boss", matched: false },
          ],
        },
      ],
    });
  });
});

test.each<[string, object[], RoleCaller, boolean]>([
  ["an allow by role", [allow("clerk")], having("clerk"), true],
  ["an allow that one instance may give", [allow("$InstanceStarter")], as("starter"), false],
  ["a deny that one instance may give", [deny("$PreviousUser")], as("anybody"), false],
  [
    "a deny that needs more than the instance",
    [{ grant: "deny", allOf: [{ role: "guest" }, { role: "$InstanceStarter" }] }],
    having("clerk"),
    true,
  ],
  [
    "a deny whose other half holds",
    [{ grant: "deny", allOf: [{ role: "guest" }, { role: "$InstanceStarter" }] }],
    having("guest"),
    false,
  ],
  [
    "an allow by data, beside one by role",
    [allow("$user.$.context.Instance.Data.owner"), allow("clerk")],
    having("clerk"),
    true,
  ],
])("for any instance: %s", (_, grants, caller, expected) => {
  expect(rolesAllowForAny(normaliseRoles(grants), caller)).toBe(expected);
});

test("only grants about the previous user ask for them", () => {
  const asks = (role: string) => asksForPrevious(normaliseRoles([allow("x"), allow(role)]));

  expect(["$PreviousUser", "$PreviousBehalfOfUser", "$InstanceStarter", "y"].map(asks)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test("a reader passes the grants of the state, or else those of the workflow", () => {
  const { workflow } = programOf(
    aWorkflow("loan")
      .with({ queryRoles: [allow("all")] })
      .state("draft")
      .state("secret", { queryRoles: [allow("few")] }),
  );
  const rolesOf = (state: string) => queryGrants(workflow, state).map(({ roles }) => roles);

  expect([rolesOf("draft"), rolesOf("secret"), rolesOf("nowhere")]).toEqual([
    [["all"]],
    [["few"]],
    [["all"]],
  ]);
});
