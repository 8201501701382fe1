import { expect, test } from "vitest";
import {
  base64,
  changed,
  type Changes,
  component,
  definitionChecker,
  fullWorkflow,
  labels,
  refTo,
  script,
} from "../../../test/support/definition-checker.ts";
import { errorsByPath } from "./findings.ts";

const checker = definitionChecker();
const check = (body: unknown) => checker.check(body, { requireFlowVersion: true });

/** The state `draft` and its manual transition `submit`; the state `check` and its automatic one. */
const draft = "attributes.states[0]";
const submit = `${draft}.transitions[0]`;
const remind = `${draft}.transitions[1]`;
const revoke = `${draft}.transitions[2]`;
const review = "attributes.states[1]";
const auto = `${review}.transitions[0]`;
const other = `${review}.transitions[1]`;
const sub = "attributes.states[2]";
const ask = "attributes.states[3]";
const shared = "attributes.sharedTransitions[0]";
const rule = "attributes.errorBoundary.onError[0]";

type Row = readonly [rule: string, changes: Changes, path: string, says: string];

const mistakes: readonly Row[] = [
  // the workflow
  ["type is required", { "attributes.type": undefined }, "attributes.type", "required"],
  ["type is a letter or word", { "attributes.type": "X" }, "attributes.type", "F (flow)"],
  ["states are required", { "attributes.states": undefined }, "attributes.states", "required"],
  ["states are a list", { "attributes.states": {} }, "attributes.states", "a list"],
  ["states are not empty", { "attributes.states": [] }, "attributes.states", "not be empty"],
  [
    "start is required",
    { "attributes.startTransition": undefined },
    "attributes.startTransition",
    "required",
  ],
  ["one initial state: none", { [`${draft}.stateType`]: 2 }, "attributes.states", "it has none"],
  [
    "one initial state: two",
    { [`${ask}.stateType`]: "Initial" },
    "attributes.states",
    "it has 2: draft and ask",
  ],
  ["labels are a list", { "attributes.labels": "x" }, "attributes.labels", "a list"],
  [
    "a label has a text",
    { "attributes.labels[0].label": 5 },
    "attributes.labels[0].label",
    "a string",
  ],
  [
    "the output script has code",
    { "attributes.output": { type: "L" } },
    "attributes.output.code",
    "no code",
  ],
  [
    "helpers are mappings",
    { "attributes.scripts.helpers[0].flow": "sys-tasks" },
    "attributes.scripts.helpers[0].flow",
    "sys-mappings",
  ],
  [
    "functions are functions",
    { "attributes.functions[0].flow": "sys-tasks" },
    "attributes.functions[0].flow",
    "sys-functions",
  ],
  [
    "extensions are extensions",
    { "attributes.extensions[0].flow": "sys-tasks" },
    "attributes.extensions[0].flow",
    "sys-extensions",
  ],
  [
    "the master schema is a schema",
    { "attributes.schema": refTo("sys-views", "x") },
    "attributes.schema.flow",
    "sys-schemas",
  ],
  ["the event has a mapping", { "attributes.event": {} }, "attributes.event.mapping", "required"],

  // states
  ["a state has a key", { [`${draft}.key`]: undefined }, `${draft}.key`, "required"],
  ["a state key fits job names", { [`${ask}.key`]: "a.b" }, `${ask}.key`, "job names"],
  [
    "a state key has 100 characters",
    { [`${ask}.key`]: "x".repeat(101) },
    `${ask}.key`,
    "at most 100",
  ],
  ["state keys are unique", { [`${ask}.key`]: "check" }, `${ask}.key`, "already"],
  ["a state has a type", { [`${draft}.stateType`]: undefined }, `${draft}.stateType`, "required"],
  [
    "a state type is known",
    { [`${draft}.stateType`]: 9 },
    `${draft}.stateType`,
    "1 (initial), 2 (intermediate), 3 (finish), 4 (subFlow), 5 (wizard), or the word; got 9",
  ],
  ["a sub type is known", { [`${draft}.subType`]: "odd" }, `${draft}.subType`, "7 (cancelled)"],
  [
    "a strategy is known",
    { [`${draft}.versionStrategy`]: "Big" },
    `${draft}.versionStrategy`,
    "Patch",
  ],
  [
    "a wizard has one transition",
    { [`${ask}.transitions[1]`]: { key: "b", target: "check" } },
    `${ask}.transitions`,
    "at most one",
  ],
  ["a subflow state has a subFlow", { [`${sub}.subFlow`]: null }, `${sub}.subFlow`, "type 4"],
  [
    "an alias has roles",
    { [`${review}.alias[0].roles`]: [] },
    `${review}.alias[0].roles`,
    "at least one",
  ],
  [
    "an alias has a name",
    { [`${review}.alias[0].name`]: undefined },
    `${review}.alias[0].name`,
    "required",
  ],
  [
    "a notification has a mapping",
    { [`${review}.notifications[0].mapping`]: undefined },
    `${review}.notifications[0].mapping`,
    "required",
  ],
  [
    "a notification's type is state",
    { [`${review}.notifications[0].type`]: "command" },
    `${review}.notifications[0].type`,
    "0 (state)",
  ],
  [
    "a long poll has roles or a rule",
    {
      [`${review}.interaction.longPoll`]: {
        terminate: true,
        roles: [{ role: "a", grant: "allow" }],
        rule: script(),
      },
    },
    `${review}.interaction.longPoll`,
    "not both",
  ],
  [
    "a long poll waits a second or more",
    { [`${review}.interaction.longPoll.fallbackTimeoutSeconds`]: 0 },
    `${review}.interaction.longPoll.fallbackTimeoutSeconds`,
    "1 or more",
  ],

  // transitions
  ["a transition has a key", { [`${submit}.key`]: undefined }, `${submit}.key`, "required"],
  ["a transition key fits job names", { [`${submit}.key`]: "a b" }, `${submit}.key`, "job names"],
  [
    "transition keys are unique in a state",
    { [`${remind}.key`]: "submit" },
    `${remind}.key`,
    "already",
  ],
  [
    "a transition has a target",
    { [`${submit}.target`]: undefined },
    `${submit}.target`,
    "required",
  ],
  [
    "a target exists",
    { [`${submit}.target`]: "nowhere" },
    `${submit}.target`,
    "State 'draft', transition 'submit': The target 'nowhere' is not a state",
  ],
  ["a trigger is known", { [`${submit}.triggerType`]: 7 }, `${submit}.triggerType`, "0 (manual)"],
  ["manual has no rule", { [`${submit}.rule`]: script() }, `${submit}.rule`, "cannot have 'rule'"],
  [
    "manual has no timer",
    { [`${submit}.timer`]: script() },
    `${submit}.timer`,
    "cannot have 'timer'",
  ],
  [
    "a rule without trigger is a manual one's",
    { [`${auto}.triggerType`]: undefined },
    `${auto}.rule`,
    "cannot have 'rule'",
  ],
  ["automatic needs a rule", { [`${auto}.rule`]: undefined }, `${auto}.rule`, "needs a 'rule'"],
  [
    "automatic has no view",
    { [`${auto}.view`]: { view: refTo("sys-views", "x") } },
    `${auto}.view`,
    "cannot have 'view'",
  ],
  [
    "automatic has no schema",
    { [`${auto}.schema`]: refTo("sys-schemas", "x") },
    `${auto}.schema`,
    "cannot have 'schema'",
  ],
  [
    "automatic has no mapping",
    { [`${auto}.mapping`]: script() },
    `${auto}.mapping`,
    "cannot have 'mapping'",
  ],
  ["a rule carries code", { [`${auto}.rule`]: { type: "G" } }, `${auto}.rule.type`, "type G"],
  ["one default per state", { [`${auto}.triggerKind`]: 10 }, `${other}.triggerKind`, "already"],
  [
    "the default is automatic",
    { [`${submit}.triggerKind`]: 10 },
    `${submit}.triggerKind`,
    "automatic transitions only",
  ],
  [
    "a trigger kind is known",
    { [`${auto}.triggerKind`]: 11 },
    `${auto}.triggerKind`,
    "10 (default)",
  ],
  ["scheduled needs a timer", { [`${remind}.timer`]: null }, `${remind}.timer`, "needs a 'timer'"],
  [
    "scheduled has no rule",
    { [`${remind}.rule`]: script() },
    `${remind}.rule`,
    "cannot have 'rule'",
  ],
  [
    "availableIn is not for a state's own",
    { [`${submit}.availableIn`]: ["draft"] },
    `${submit}.availableIn`,
    "belongs to shared",
  ],
  [
    "annotations are texts",
    { [`${submit}.annotations`]: { a: 1 } },
    `${submit}.annotations.a`,
    "a string",
  ],
  [
    "a lock has an action",
    { [`${submit}.resourceLock.action`]: "Steal" },
    `${submit}.resourceLock.action`,
    "Acquire",
  ],
  [
    "a lock has a key",
    { [`${submit}.resourceLock.keyExpression`]: undefined },
    `${submit}.resourceLock.keyExpression`,
    "required",
  ],
  [
    "an execution type is known",
    { [`${submit}.executionType`]: "X" },
    `${submit}.executionType`,
    "S (sync)",
  ],

  // workflow-level transitions
  [
    "the start's target exists",
    { "attributes.startTransition.target": "nowhere" },
    "attributes.startTransition.target",
    "use the initial state 'draft'",
  ],
  [
    "the start has no self",
    { "attributes.startTransition.target": "$self" },
    "attributes.startTransition.target",
    "not a state",
  ],
  [
    "the start is manual",
    { "attributes.startTransition.triggerType": 1 },
    "attributes.startTransition.triggerType",
    "always manual",
  ],
  [
    "availableIn is not for the start",
    { "attributes.startTransition.availableIn": ["draft"] },
    "attributes.startTransition.availableIn",
    "belongs to shared",
  ],
  [
    "shared keys are unique",
    { "attributes.sharedTransitions[1]": { key: "comment", target: "$self" } },
    "attributes.sharedTransitions[1].key",
    "already",
  ],
  [
    "shared is not automatic",
    { [`${shared}.triggerType`]: 1 },
    `${shared}.triggerType`,
    "cannot be automatic",
  ],
  [
    "shared targets exist",
    { [`${shared}.target`]: "nowhere" },
    `${shared}.target`,
    "Shared transition 'comment': The target 'nowhere'",
  ],
  [
    "availableIn names states",
    { [`${shared}.availableIn`]: ["draft", "nowhere"] },
    `${shared}.availableIn[1]`,
    "not a state",
  ],
  [
    "availableIn names states in objects",
    { [`${shared}.availableIn`]: [{ state: "nowhere" }] },
    `${shared}.availableIn[0].state`,
    "not a state",
  ],
  [
    "availableIn lists a state once",
    { [`${shared}.availableIn`]: ["draft", { state: "draft" }] },
    `${shared}.availableIn[1].state`,
    "twice",
  ],
  [
    "all stands alone in availableIn",
    { [`${shared}.availableIn`]: ["all", "draft"] },
    `${shared}.availableIn[0]`,
    "not a state",
  ],
  [
    "availableIn holds states",
    { [`${shared}.availableIn`]: [5] },
    `${shared}.availableIn[0]`,
    "a string or an object",
  ],
  [
    "cancel's target exists",
    { "attributes.cancel.target": "nowhere" },
    "attributes.cancel.target",
    "not a state",
  ],
  [
    "cancel is manual",
    { "attributes.cancel.triggerType": "automatic" },
    "attributes.cancel.triggerType",
    "always manual",
  ],
  ["exit has a key", { "attributes.exit.key": undefined }, "attributes.exit.key", "required"],
  [
    "exit's availableIn names states",
    { "attributes.exit.availableIn": ["nowhere"] },
    "attributes.exit.availableIn[0]",
    "not a state",
  ],
  [
    "updateData stays",
    { "attributes.updateData.target": "draft" },
    "attributes.updateData.target",
    "must be $self",
  ],
  [
    "cancel, exit and updateData have keys of their own",
    { "attributes.exit.key": "Cancel-Request" },
    "attributes.exit.key",
    "'cancel' has the key",
  ],

  // timeout
  [
    "a timeout has a key",
    { "attributes.timeout.key": undefined },
    "attributes.timeout.key",
    "required",
  ],
  [
    "a timeout key fits job names",
    { "attributes.timeout.key": "a:b" },
    "attributes.timeout.key",
    "job names",
  ],
  [
    "a timeout's target exists",
    { "attributes.timeout.target": "nowhere" },
    "attributes.timeout.target",
    "not a state",
  ],
  [
    "a timeout has a timer",
    { "attributes.timeout.timer": undefined },
    "attributes.timeout.timer",
    "required",
  ],
  [
    "a duration is ISO 8601",
    { "attributes.timeout.timer.duration": "5m" },
    "attributes.timeout.timer.duration",
    "ISO 8601",
  ],
  [
    "a duration is not zero",
    { "attributes.timeout.timer.duration": "PT0S" },
    "attributes.timeout.timer.duration",
    "longer than nothing",
  ],
  [
    "a duration is there",
    { "attributes.timeout.timer.duration": null },
    "attributes.timeout.timer.duration",
    "no duration",
  ],

  // error boundaries
  ["a rule has an action", { [`${rule}.action`]: undefined }, `${rule}.action`, "required"],
  ["an action is known", { [`${rule}.action`]: 6 }, `${rule}.action`, "5 (log)"],
  [
    "retry has a policy",
    { [`${rule}.retryPolicy`]: undefined },
    `${rule}.retryPolicy`,
    "needs a 'retryPolicy'",
  ],
  [
    "a first delay is ISO 8601",
    { [`${rule}.retryPolicy.initialDelay`]: "1s" },
    `${rule}.retryPolicy.initialDelay`,
    "ISO 8601",
  ],
  [
    "a first delay is not zero",
    { [`${rule}.retryPolicy.initialDelay`]: "PT0S" },
    `${rule}.retryPolicy.initialDelay`,
    "longer than nothing",
  ],
  [
    "the longest delay is longer than the first",
    { [`${rule}.retryPolicy.maxDelay`]: "PT0.5S" },
    `${rule}.retryPolicy.maxDelay`,
    "shorter than the initial",
  ],
  [
    "retries are counted from 0",
    { [`${rule}.retryPolicy.maxRetries`]: -1 },
    `${rule}.retryPolicy.maxRetries`,
    "0 or more",
  ],
  [
    "delays do not shrink",
    { [`${rule}.retryPolicy.backoffMultiplier`]: 0.5 },
    `${rule}.retryPolicy.backoffMultiplier`,
    "1 or more",
  ],
  [
    "rollback has a transition",
    { [rule]: { action: "Rollback" } },
    `${rule}.transition`,
    "needs the transition",
  ],
  [
    "notify has a transition",
    { [rule]: { action: 4 } },
    `${rule}.transition`,
    "needs the transition",
  ],
  [
    "a boundary's transition exists",
    { [rule]: { action: 0, transition: "nowhere" } },
    `${rule}.transition`,
    "no transition 'nowhere'",
  ],
  [
    "a state's boundary is checked",
    { [`${draft}.errorBoundary`]: { onError: [{ action: 1 }] } },
    `${draft}.errorBoundary.onError[0].retryPolicy`,
    "needs a 'retryPolicy'",
  ],
  [
    "a task's boundary is checked",
    { [`${review}.onEntries[0].errorBoundary.onError[0].action`]: 2 },
    `${review}.onEntries[0].errorBoundary.onError[0].transition`,
    "needs the transition",
  ],

  // task bindings and references
  [
    "a binding has a task",
    { [`${submit}.onExecutionTasks[0].task`]: undefined },
    `${submit}.onExecutionTasks[0].task`,
    "required",
  ],
  [
    "an order is a whole number",
    { [`${submit}.onExecutionTasks[0].order`]: "1" },
    `${submit}.onExecutionTasks[0].order`,
    "a whole number",
  ],
  [
    "a task slot takes tasks",
    { [`${submit}.onExecutionTasks[0].task.flow`]: "sys-views" },
    `${submit}.onExecutionTasks[0].task.flow`,
    "sys-tasks",
  ],
  [
    "a reference names a component",
    { [`${submit}.onExecutionTasks[0].task`]: {} },
    `${submit}.onExecutionTasks[0].task.key`,
    "names no component",
  ],
  [
    "short references are for authoring",
    { [`${submit}.onExecutionTasks[0].task`]: { ref: "Tasks/x.json" } },
    `${submit}.onExecutionTasks[0].task`,
    "authoring only",
  ],
  [
    "a reference's version can be looked up",
    { [`${submit}.onExecutionTasks[0].task.version`]: "^1.0" },
    `${submit}.onExecutionTasks[0].task.version`,
    "cannot be looked up",
  ],
  [
    "a view slot takes views",
    { [`${draft}.view.view.flow`]: "sys-tasks" },
    `${draft}.view.view.flow`,
    "sys-views",
  ],
  [
    "a views list takes views",
    { [`${draft}.views`]: [{ view: refTo("sys-tasks", "x") }] },
    `${draft}.views[0].view.flow`,
    "sys-views",
  ],
  [
    "a view entry has a view",
    { [`${submit}.view.rules[0].view`]: undefined },
    `${submit}.view.rules[0].view`,
    "names no view",
  ],
  ["a view slot is one", { [`${draft}.view`]: { look: 1 } }, `${draft}.view`, "no view slot"],
  [
    "a schema entry has a schema",
    { [`${submit}.schema.schemas[0].schema`]: undefined },
    `${submit}.schema.schemas[0].schema`,
    "names no schema",
  ],

  // subflows
  [
    "a subflow has a type",
    { [`${sub}.subFlow.type`]: "F" },
    `${sub}.subFlow.type`,
    "S (subFlow), P (subProcess)",
  ],
  [
    "a subflow has a process",
    { [`${sub}.subFlow.process`]: undefined },
    `${sub}.subFlow.process`,
    "required",
  ],
  [
    "a process is a workflow",
    { [`${sub}.subFlow.process.flow`]: "sys-tasks" },
    `${sub}.subFlow.process.flow`,
    "sys-flows",
  ],
  [
    "a subflow mapping decodes",
    { [`${sub}.subFlow.mapping.code`]: "%%%" },
    `${sub}.subFlow.mapping.code`,
    "not base64",
  ],
  [
    "overridden roles are checked",
    { [`${sub}.subFlow.overrides.transitions.approve.roles[0].grant`]: "perhaps" },
    `${sub}.subFlow.overrides.transitions.approve.roles[0].grant`,
    "allow",
  ],
  [
    "overridden views are views",
    { [`${sub}.subFlow.overrides.views`]: { a: refTo("sys-tasks", "x") } },
    `${sub}.subFlow.overrides.views.a.flow`,
    "sys-views",
  ],
  [
    "an overridden timeout is checked",
    { [`${sub}.subFlow.overrides.timeout`]: { timer: { duration: "soon" } } },
    `${sub}.subFlow.overrides.timeout.timer.duration`,
    "ISO 8601",
  ],

  // roles
  [
    "a grant is allow or deny",
    { "attributes.queryRoles[0].grant": "yes" },
    "attributes.queryRoles[0].grant",
    "allow, deny",
  ],
  [
    "a grant is there",
    { "attributes.queryRoles[0].grant": undefined },
    "attributes.queryRoles[0].grant",
    "required",
  ],
  [
    "a grant has a role",
    { "attributes.queryRoles[0].role": undefined },
    "attributes.queryRoles[0]",
    "it has none",
  ],
  [
    "a grant has one of role, allOf, anyOf",
    { "attributes.queryRoles[0].allOf": [{ role: "a" }] },
    "attributes.queryRoles[0]",
    "it has role and allOf",
  ],
  [
    "anyOf has a role",
    { [`${submit}.roles[0].anyOf`]: [] },
    `${submit}.roles[0].anyOf`,
    "not be empty",
  ],
  [
    "anyOf holds roles",
    { [`${submit}.roles[0].anyOf[0].role`]: 5 },
    `${submit}.roles[0].anyOf[0].role`,
    "a string",
  ],
  [
    "a dynamic role has a context",
    { "attributes.queryRoles[0].role": "$user.ownerId" },
    "attributes.queryRoles[0].role",
    "$.context.",
  ],
  [
    "a dynamic role has a path",
    { "attributes.queryRoles[0].role": "$role.$.context." },
    "attributes.queryRoles[0].role",
    "$.context.",
  ],
  [
    "availableIn's roles are checked",
    { [`${shared}.availableIn[1].roles[0].role`]: "$user.x" },
    `${shared}.availableIn[1].roles[0].role`,
    "$.context.",
  ],

  // scripts
  [
    "a script type is known",
    { "attributes.output.type": "Z" },
    "attributes.output.type",
    "L (local), G (global)",
  ],
  [
    "an encoding is known",
    { "attributes.output.encoding": "HEX" },
    "attributes.output.encoding",
    "B64",
  ],
  ["a script has code", { "attributes.output.code": "" }, "attributes.output.code", "no code"],
  [
    "a location alone is no code",
    { "attributes.output": { location: "./x.csx" } },
    "attributes.output.code",
    "location alone",
  ],
  [
    "base64 decodes",
    { "attributes.output.code": "not base64!" },
    "attributes.output.code",
    "not base64",
  ],
  [
    "base64 is padded",
    { "attributes.output.code": "YWJjZA" },
    "attributes.output.code",
    "not base64",
  ],
  [
    "base64 is UTF-8",
    { "attributes.output.code": "/////w==" },
    "attributes.output.code",
    "not base64 of UTF-8",
  ],
  [
    "base64 is not blank",
    { "attributes.output.code": base64("  \n") },
    "attributes.output.code",
    "decodes to nothing",
  ],
  [
    "REF needs a reference",
    { "attributes.output": { encoding: "REF", code: "x" } },
    "attributes.output.code",
    "must be a reference",
  ],
  [
    "REF names a mapping",
    { "attributes.output": { encoding: "REF", code: refTo("sys-tasks", "x") } },
    "attributes.output.code.flow",
    "sys-mappings",
  ],
  [
    "a reference needs REF",
    { "attributes.output": { code: refTo("sys-mappings", "x") } },
    "attributes.output.code",
    "encoding REF",
  ],
  [
    "an expression is short",
    { [`${auto}.rule.code`]: "x".repeat(8001) },
    `${auto}.rule.code`,
    "8001 characters",
  ],
  ["an expression is not empty", { [`${auto}.rule.code`]: " " }, `${auto}.rule.code`, "no code"],
  [
    "a script's helpers are mappings",
    { "attributes.output.scripts": { helpers: [refTo("sys-tasks", "x")] } },
    "attributes.output.scripts.helpers[0].flow",
    "sys-mappings",
  ],
  [
    "an event's mapping is checked",
    { [`${revoke}.event.mapping.code`]: "%" },
    `${revoke}.event.mapping.code`,
    "not base64",
  ],
];

test.each(mistakes)("refused: %s", (_, changes, path, says) => {
  const { mistakes: found } = check(changed(fullWorkflow(), changes));

  expect(errorsByPath(found)).toHaveProperty([path], [expect.stringContaining(says)]);
});

const warnings: readonly Row[] = [
  [
    "an event transition that reads no event",
    { [`${revoke}.event`]: undefined },
    `${revoke}.event`,
    "only a request can take it",
  ],
  [
    "labels default to the key",
    { [`${submit}.labels`]: undefined },
    `${submit}.labels`,
    "the default is 'submit'",
  ],
  [
    "empty labels are none",
    { [`${draft}.labels`]: [] },
    `${draft}.labels`,
    "the default is 'draft'",
  ],
  [
    "the strategy defaults to Patch",
    { [`${draft}.versionStrategy`]: undefined },
    `${draft}.versionStrategy`,
    "Patch",
  ],
  [
    "the trigger defaults to manual",
    { [`${submit}.triggerType`]: undefined },
    `${submit}.triggerType`,
    "0 (manual)",
  ],
  [
    "the order defaults to the position",
    { [`${submit}.onExecutionTasks[1].order`]: undefined },
    `${submit}.onExecutionTasks[1].order`,
    "position, 2",
  ],
  [
    "a task's mapping may be missing",
    { [`${submit}.onExecutionTasks[0].mapping`]: undefined },
    `${submit}.onExecutionTasks[0].mapping`,
    "not merged",
  ],
  ["tags default to none", { tags: undefined }, "tags", "default is []"],
  [
    "the start goes elsewhere",
    { "attributes.startTransition.target": "check" },
    "attributes.startTransition.target",
    "not the initial state",
  ],
  [
    "a finish state has transitions",
    { "attributes.states[4].transitions": [{ key: "on", target: "draft" }] },
    "attributes.states[4].transitions",
    "never taken",
  ],
  ["a state is unreachable", { [`${other}.target`]: "$self" }, ask, "No transition leads"],
  [
    "a subFlow in another state",
    { [`${draft}.subFlow`]: { type: "S", process: refTo("sys-flows", "x"), mapping: script() } },
    `${draft}.subFlow`,
    "no effect",
  ],
  [
    "a subflow's mapping may be missing",
    { [`${sub}.subFlow.mapping`]: undefined },
    `${sub}.subFlow.mapping`,
    "parent's data",
  ],
  [
    "a reference without domain",
    { "attributes.functions[0].domain": undefined },
    "attributes.functions[0].domain",
    "'hr'",
  ],
  [
    "a reference without flow",
    { "attributes.functions[0].flow": undefined },
    "attributes.functions[0].flow",
    "sys-functions is used",
  ],
  [
    "a reference without version",
    { "attributes.functions[0].version": undefined },
    "attributes.functions[0].version",
    "latest",
  ],
  [
    "an unknown predefined role",
    { "attributes.queryRoles[0].role": "$Nobody" },
    "attributes.queryRoles[0].role",
    "plain text",
  ],
  [
    "onTimeout names a transition that is not there",
    { "attributes.errorBoundary.onTimeout": { action: 0, transition: "nowhere" } },
    "attributes.errorBoundary.onTimeout.transition",
    "faults the instance",
  ],
  [
    "onTimeout says nothing",
    { "attributes.errorBoundary.onTimeout": {} },
    "attributes.errorBoundary.onTimeout.action",
    "a timeout aborts",
  ],
  [
    "the first delay has a default",
    { [`${rule}.retryPolicy.initialDelay`]: undefined },
    `${rule}.retryPolicy.initialDelay`,
    "PT1S",
  ],
  [
    "a shared schedule is never armed",
    { [shared]: { key: "comment", target: "$self", triggerType: 2, timer: script() } },
    `${shared}.triggerType`,
    "never armed",
  ],
  [
    "a rule on cancel has no effect",
    { "attributes.cancel.rule": script() },
    "attributes.cancel.rule",
    "no effect",
  ],
  [
    "a fallback hides later entries",
    {
      [`${draft}.view`]: {
        views: [
          { view: refTo("sys-views", "a") },
          { rule: script(), view: refTo("sys-views", "b") },
        ],
      },
    },
    `${draft}.view.views[0]`,
    "move it to the end",
  ],
  [
    "a cache of no time",
    { "attributes.config": { functionCache: { ttlSeconds: 0 } } },
    "attributes.config.functionCache.ttlSeconds",
    "host's default",
  ],
];

test.each(warnings)("accepted with a warning: %s", (_, changes, path, says) => {
  const result = check(changed(fullWorkflow(), changes));

  expect(result.mistakes).toEqual([]);
  expect(errorsByPath(result.warnings)).toHaveProperty([path], [expect.stringContaining(says)]);
});

const silent: readonly (readonly [string, Changes])[] = [
  ["a workflow that uses every part", {}],
  [
    "numbers as text and words in any case",
    {
      [`${draft}.stateType`]: "1",
      [`${review}.stateType`]: "INTERMEDIATE",
      [`${submit}.triggerType`]: "Manual",
      "attributes.type": "Flow",
    },
  ],
  ["abort with a transition", { [rule]: { action: "Abort", transition: "submit" } }],
  ["an error code as a number", { [`${rule}.errorCodes`]: [503] }],
  [
    "null for what is not set",
    {
      "attributes.cancel": null,
      "attributes.timeout": null,
      "attributes.output": null,
      [`${draft}.view`]: null,
      [`${draft}.subType`]: null,
      [`${submit}.rule`]: null,
      [`${submit}.annotations`]: null,
    },
  ],
  ["a subprocess in a state", { [`${sub}.subFlow.type`]: "P" }],
  [
    "unknown members",
    { "attributes.somethingNew": 1, [`${draft}._comment`]: "x", crossDomain: true },
  ],
  [
    "a reference by id",
    { "attributes.functions[0]": { ...refTo("sys-functions", "x"), key: undefined, id: "x" } },
  ],
  [
    "references by major, minor and latest",
    {
      "attributes.functions": ["1", "1.2", "latest", "1.0.0-pkg.2.0.0+hr"].map((version) => ({
        ...refTo("sys-functions", "x"),
        version,
      })),
    },
  ],
  ["base64 in lines", { "attributes.output.code": `${base64("some longer code")}\n` }],
  ["availableIn ALL in any case", { [`${shared}.availableIn`]: ["ALL"] }],
  [
    "an empty availableIn where there can be none",
    { [`${submit}.availableIn`]: [], "attributes.startTransition.availableIn": [] },
  ],
  ["a bare view reference", { [`${draft}.view`]: refTo("sys-views", "form") }],
  [
    "durations with weeks and fractions",
    { "attributes.timeout.timer.duration": "P2W", [`${rule}.retryPolicy.initialDelay`]: "PT0.25S" },
  ],
];

test.each(silent)("accepted without a word: %s", (_, changes) => {
  expect(check(changed(fullWorkflow(), changes))).toEqual({ mistakes: [], warnings: [] });
});

const one = (key: string, more: object) => ({
  key,
  versionStrategy: "Patch",
  labels: labels(key),
  ...more,
});

test("the small example of the definition model is accepted without a word", () => {
  const body = component("sys-flows", {
    type: "F",
    labels: labels("Leave request"),
    startTransition: one("start", { target: "draft", triggerType: 0 }),
    states: [
      one("draft", {
        stateType: 1,
        transitions: [one("submit", { target: "check", triggerType: 0 })],
      }),
      one("check", {
        stateType: 2,
        transitions: [
          one("auto-ok", {
            target: "done",
            triggerType: 1,
            rule: { location: "dynamicExpresso", encoding: "NAT", code: "context.Body.days < 3" },
          }),
          one("auto-else", { target: "draft", triggerType: 1, triggerKind: 10 }),
        ],
      }),
      one("done", { stateType: 3, subType: 1 }),
    ],
  });

  expect(check(body)).toEqual({ mistakes: [], warnings: [] });
});

test("six different mistakes are reported at once, each at its path", () => {
  const body = changed(fullWorkflow(), {
    version: "one",
    "attributes.type": undefined,
    [`${ask}.stateType`]: 1,
    [`${submit}.target`]: "nowhere",
    [`${auto}.rule.code`]: undefined,
    "attributes.timeout.timer.duration": "5m",
  });

  expect(Object.keys(errorsByPath(check(body).mistakes)).toSorted()).toEqual([
    "attributes.states",
    `${submit}.target`,
    `${auto}.rule.code`,
    "attributes.timeout.timer.duration",
    "attributes.type",
    "version",
  ]);
});

test("a sparse workflow is accepted, with its defaults named", () => {
  const { mistakes: none, warnings: named } = check({
    ...component("sys-flows", {
      type: "F",
      startTransition: { key: "start", target: "open" },
      states: [
        { key: "open", stateType: 1, transitions: [{ key: "close", target: "closed" }] },
        { key: "closed", stateType: 3 },
      ],
    }),
    tags: undefined,
  });

  expect(none).toEqual([]);
  expect(named.map(({ path }) => path)).toEqual(
    expect.arrayContaining(["tags", "attributes.labels", "attributes.startTransition.triggerType"]),
  );
});

test("a long value is shortened in the message", () => {
  const {
    mistakes: [mistake],
  } = check(changed(fullWorkflow(), { [`${submit}.target`]: "x".repeat(500) }));

  expect(mistake?.message).toContain(`'${"x".repeat(80)}…'`);
  expect(mistake?.message).not.toContain("x".repeat(81));
});
