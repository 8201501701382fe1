/**
 * Grants of every form and callers of every kind. What each form means is written down here by hand,
 * so that a mistake in the engine cannot excuse itself.
 *
 * The instances they are about were started by `starter` and moved last by `mover`.
 */
export interface Caller {
  name: string;
  roles?: string[];
  actor?: string;
  behalfOf?: string;
  xRole?: string;
}

export const callers: Caller[] = [
  { name: "nobody" },
  { name: "clerk", roles: ["clerk"], actor: "eve" },
  { name: "guest", roles: ["guest"], actor: "eve" },
  { name: "clerk and guest", roles: ["CLERK", "guest"], actor: "eve" },
  { name: "clerk and boss", roles: ["boss", "clerk"], actor: "eve" },
  { name: "who started it", actor: "starter" },
  { name: "a clerk who moved it last", roles: ["clerk"], actor: "mover", behalfOf: "moved-for" },
  { name: "its customer", actor: "eve", behalfOf: "customer" },
  { name: "its owner", actor: "ann", behalfOf: "ann" },
  { name: "one of its team", roles: ["guest"], actor: "bob" },
  { name: "approver by data and header", roles: ["approver"], actor: "eve", xRole: "approver" },
];

export interface Form {
  name: string;
  grants: object[];
  lets(caller: Caller): boolean;
  /** Where there is no instance to look at; as `lets` unless given. */
  letsInDomain?(caller: Caller): boolean;
}

const allow = (role: string) => ({ role, grant: "allow" });
const deny = (role: string) => ({ role, grant: "deny" });
const all = (grant: string, ...roles: string[]) => ({
  grant,
  allOf: roles.map((role) => ({ role })),
});
const any = (grant: string, ...roles: string[]) => ({
  grant,
  anyOf: roles.map((role) => ({ role })),
});
export const has = ({ roles = [] }: Caller, role: string) =>
  roles.map((name) => name.toLowerCase()).includes(role);

/** Of the instances that the grants are about. */
export const data = { owner: "ann", team: ["bob", "cem"], needs: "Approver" };
export const forms: Form[] = [
  { name: "none", grants: [], lets: () => true },
  { name: "allow", grants: [allow("clerk")], lets: (c) => has(c, "clerk") },
  { name: "allowAnyCase", grants: [allow("cLeRk")], lets: (c) => has(c, "clerk") },
  { name: "deny", grants: [deny("guest")], lets: (c) => !has(c, "guest") },
  {
    name: "allowAndDeny",
    grants: [allow("clerk"), deny("guest")],
    lets: (c) => has(c, "clerk") && !has(c, "guest"),
  },
  {
    name: "twoAllows",
    grants: [allow("boss"), allow("guest")],
    lets: (c) => has(c, "boss") || has(c, "guest"),
  },
  {
    name: "allOf",
    grants: [all("allow", "clerk", "boss")],
    lets: (c) => has(c, "clerk") && has(c, "boss"),
  },
  {
    name: "anyOf",
    grants: [any("allow", "boss", "guest")],
    lets: (c) => has(c, "boss") || has(c, "guest"),
  },
  {
    name: "denyAnyOf",
    grants: [any("deny", "boss", "guest")],
    lets: (c) => !has(c, "boss") && !has(c, "guest"),
  },
  {
    name: "fourEyes",
    grants: [allow("clerk"), all("deny", "clerk", "$PreviousUser")],
    lets: (c) => has(c, "clerk") && c.actor !== "mover",
    letsInDomain: (c) => has(c, "clerk"),
  },
  {
    name: "starter",
    grants: [allow("$InstanceStarter")],
    lets: (c) => c.actor === "starter",
    letsInDomain: () => false,
  },
  {
    name: "notStarter",
    grants: [deny("$InstanceStarter")],
    lets: (c) => c.actor !== "starter",
    letsInDomain: () => true,
  },
  {
    name: "startedFor",
    grants: [allow("$InstanceBehalfOfStarter")],
    lets: (c) => c.behalfOf === "customer",
    letsInDomain: () => false,
  },
  {
    name: "previous",
    grants: [allow("$PreviousUser")],
    lets: (c) => c.actor === "mover",
    letsInDomain: () => false,
  },
  {
    name: "previousFor",
    grants: [allow("$PreviousBehalfOfUser")],
    lets: (c) => c.behalfOf === "moved-for",
    letsInDomain: () => false,
  },
  {
    name: "ownerByData",
    grants: [allow("$user.$.context.Instance.Data.owner")],
    lets: (c) => c.actor === "ann",
    letsInDomain: () => false,
  },
  {
    name: "ownerForByData",
    grants: [allow("$userBehalfOf.$.context.Instance.Data.owner")],
    lets: (c) => c.behalfOf === "ann",
    letsInDomain: () => false,
  },
  {
    name: "teamByData",
    grants: [allow("$user.$.context.Instance.Data.team")],
    lets: (c) => c.actor === "bob",
    letsInDomain: () => false,
  },
  {
    name: "notTeamByData",
    grants: [deny("$user.$.context.Instance.Data.team")],
    lets: (c) => c.actor !== "bob",
    letsInDomain: () => true,
  },
  {
    name: "roleByData",
    grants: [allow("$role.$.context.Instance.Data.needs")],
    lets: (c) => has(c, "approver"),
    letsInDomain: () => false,
  },
  {
    name: "createdBy",
    grants: [allow("$user.$.context.Instance.CreatedBy")],
    lets: (c) => c.actor === "starter",
    letsInDomain: () => false,
  },
  {
    name: "roleByHeader",
    grants: [allow("$role.$.context.Headers.x-role")],
    lets: (c) => c.xRole === "approver",
  },
];

export const headersOf = ({ roles, actor, behalfOf, xRole }: Caller): Record<string, string> => ({
  ...(roles === undefined ? {} : { role: roles.join(",") }),
  ...(actor === undefined ? {} : { act_sub: actor }),
  ...(behalfOf === undefined ? {} : { sub: behalfOf }),
  ...(xRole === undefined ? {} : { "x-role": xRole }),
});

/** The headers of who starts the instances, and of who moves them last. */
export const starter = headersOf({ name: "starter", actor: "starter", behalfOf: "customer" });
export const mover = headersOf({ name: "mover", actor: "mover", behalfOf: "moved-for" });

export interface Cell {
  surface: string;
  form: Form;
  caller: Caller;
  expected: boolean;
  got: boolean;
}

export const disagreements = (cells: readonly Cell[]): string[] =>
  cells
    .filter(({ expected, got }) => expected !== got)
    .map(
      ({ surface, form, caller, expected }) =>
        `${surface} ${form.name} as ${caller.name}: ${expected ? "refused" : "allowed"}`,
    );
