import { expect, test } from "vitest";
import { anInstance, programOf } from "../../test/support/a-run.ts";
import { aWorkflow } from "../../test/support/a-workflow.ts";
import { normaliseRoles } from "./definition/normalise-parts.ts";
import { rolesAllow, type RoleCaller } from "./role-gate.ts";

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
