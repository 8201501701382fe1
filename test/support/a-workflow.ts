/**
 * Workflows for tests. A test says what matters to it, the builder fills in the rest; what comes
 * out is a complete `PublishInput` that publishes without a warning.
 *
 *   aWorkflow("loan")
 *     .state("draft").transition("submit", { to: "scoring" })
 *     .state("scoring")
 *       .transition("small", { to: "done", rule: "context.Instance.Data.amount <= 1000" })
 *       .transition("else", { to: "review", otherwise: true })
 *     .state("review").transition("approve", { to: "done" })
 *     .state("done", { type: "finish", subType: "success" })
 *
 * The first state is the initial one. `.transition` belongs to the state before it.
 */
import type { StateSubType, StateType } from "../../src/engine/definition/enumerations.ts";

export interface StateOptions {
  /** The first state is initial, every other one intermediate unless it says so. */
  type?: StateType;
  subType?: StateSubType;
  [member: string]: unknown;
}

export interface TransitionOptions {
  /** A state, or `$self`, which is the default. */
  to?: string;
  /** Makes it automatic: an expression that decides, or a whole script slot. */
  rule?: string | object;
  /** Makes it automatic: the default when no rule holds. */
  otherwise?: true;
  /** Makes it scheduled: an ISO 8601 duration or instant, or a script that yields one. */
  timer?: string | object;
  /** Key of the schema the payload has to satisfy, or the whole slot. */
  schema?: string | object;
  [member: string]: unknown;
}

export interface WorkflowBuilder {
  in(domain: string): WorkflowBuilder;
  version(version: string): WorkflowBuilder;
  tags(...tags: string[]): WorkflowBuilder;
  /** The transition that starts an instance, when more than its default matters. */
  start(key: string, options?: TransitionOptions): WorkflowBuilder;
  state(key: string, options?: StateOptions): WorkflowBuilder;
  transition(key: string, options?: TransitionOptions): WorkflowBuilder;
  /** In every state, or in those that `availableIn` lists. */
  shared(key: string, options?: TransitionOptions): WorkflowBuilder;
  cancel(key: string, options?: TransitionOptions): WorkflowBuilder;
  exit(key: string, options?: TransitionOptions): WorkflowBuilder;
  updateData(key: string, options?: TransitionOptions): WorkflowBuilder;
  /** `after` is an ISO 8601 duration. */
  timeout(key: string, options: { to: string; after: string }): WorkflowBuilder;
  /** Key of the master schema of the instance data. */
  schema(key: string): WorkflowBuilder;
  /** Further members of `attributes`, as they are. */
  with(attributes: object): WorkflowBuilder;
  /** What is published; `JSON.stringify` of the builder gives the same. */
  build(): Component;
  toJSON(): Component;
}

export interface Component {
  key: string;
  flow: string;
  flowVersion: string;
  domain: string;
  version: string;
  tags: string[];
  attributes: Record<string, unknown>;
}

interface Draft {
  key: string;
  domain: string;
  version: string;
  tags: string[];
  start: [key: string, options: TransitionOptions];
  states: { key: string; options: StateOptions; transitions: [string, TransitionOptions][] }[];
  shared: [string, TransitionOptions][];
  wellKnown: Record<string, [string, TransitionOptions]>;
  timeout: [key: string, options: { to: string; after: string }] | undefined;
  schema: string | undefined;
  more: object;
}

export const defaultDomain = "core";

export const aWorkflow = (key: string): WorkflowBuilder =>
  builder({
    key,
    domain: defaultDomain,
    version: "1.0.0",
    tags: [],
    start: ["start", {}],
    states: [],
    shared: [],
    wellKnown: {},
    timeout: undefined,
    schema: undefined,
    more: {},
  });

/** Every step gives a new builder, so that a test can go two ways from one workflow. */
function builder(draft: Draft): WorkflowBuilder {
  const but = (change: Partial<Draft>) => builder({ ...draft, ...change });
  const wellKnown =
    (member: string) =>
    (key: string, options: TransitionOptions = {}) =>
      but({ wellKnown: { ...draft.wellKnown, [member]: [key, options] } });
  const build = () => componentOf(draft);
  return {
    in: (domain) => but({ domain }),
    version: (version) => but({ version }),
    tags: (...tags) => but({ tags }),
    start: (key, options = {}) => but({ start: [key, options] }),
    state: (key, options = {}) =>
      but({ states: [...draft.states, { key, options, transitions: [] }] }),
    transition(key, options = {}) {
      const last = draft.states.at(-1);
      if (last === undefined) throw new Error(`transition '${key}' has no state before it`);
      const transitions: typeof last.transitions = [...last.transitions, [key, options]];
      return but({ states: [...draft.states.slice(0, -1), { ...last, transitions }] });
    },
    shared: (key, options = {}) => but({ shared: [...draft.shared, [key, options]] }),
    cancel: wellKnown("cancel"),
    exit: wellKnown("exit"),
    updateData: wellKnown("updateData"),
    timeout: (key, options) => but({ timeout: [key, options] }),
    schema: (schema) => but({ schema }),
    with: (attributes) => but({ more: { ...draft.more, ...attributes } }),
    build,
    toJSON: build,
  };
}

function componentOf(draft: Draft): Component {
  const { key, domain, version, tags } = draft;
  const transition = ([name, options]: [string, TransitionOptions]) =>
    transitionOf(name, options, domain);
  const [startKey, startOptions] = draft.start;
  const wellKnown = Object.entries(draft.wellKnown).map(([member, it]) => [member, transition(it)]);
  return {
    key,
    flow: "sys-flows",
    flowVersion: "1.0.0",
    domain,
    version,
    tags,
    attributes: {
      type: "F",
      labels: labelled(key),
      startTransition: transition([startKey, { to: draft.states[0]?.key ?? "", ...startOptions }]),
      states: draft.states.map((state, index) => ({
        ...stateOf(state.key, state.options, index === 0),
        transitions: state.transitions.map(transition),
      })),
      sharedTransitions: draft.shared.map(transition),
      ...Object.fromEntries(wellKnown),
      ...(draft.timeout === undefined ? {} : { timeout: timeoutOf(...draft.timeout) }),
      ...(draft.schema === undefined ? {} : { schema: schemaRef(draft.schema, domain) }),
      ...draft.more,
    },
  };
}

function stateOf(key: string, options: StateOptions, isFirst: boolean): object {
  const { type = isFirst ? "initial" : "intermediate", subType = "none", ...more } = options;
  const labels = labelled(key);
  return { key, stateType: type, subType, versionStrategy: "Patch", labels, ...more };
}

function transitionOf(key: string, options: TransitionOptions, domain: string): object {
  const { to = "$self", rule, otherwise, timer, schema, ...more } = options;
  const isAutomatic = rule !== undefined || otherwise === true;
  return {
    key,
    target: to,
    triggerType: isAutomatic ? "automatic" : timer === undefined ? "manual" : "scheduled",
    ...(otherwise === true ? { triggerKind: "default" } : {}),
    ...(rule === undefined ? {} : { rule: typeof rule === "string" ? expression(rule) : rule }),
    ...(timer === undefined ? {} : { timer: timerOf(timer) }),
    ...(schema === undefined ? {} : { schema: schemaRef(schema, domain) }),
    versionStrategy: "Patch",
    labels: labelled(key),
    ...more,
  };
}

const timerOf = (timer: string | object) =>
  typeof timer === "string" ? { encoding: "NAT", code: timer } : timer;

const timeoutOf = (key: string, { to, after }: { to: string; after: string }) => ({
  key,
  target: to,
  versionStrategy: "Patch",
  timer: { reset: "N", duration: after },
});

export const labelled = (label: string) => [{ label, language: "en" }];

/** A script slot that holds one expression in place of a class. */
export const expression = (code: string) => ({
  location: "dynamicExpresso",
  encoding: "NAT",
  code,
});

/** Tasks of a hook: one after the other, those in one list side by side. */
export const hook = (...groups: (string | string[])[]) =>
  groups.flatMap((group, i) =>
    [group].flat().map((key) => ({
      order: i + 1,
      task: { key, domain: defaultDomain, flow: "sys-tasks", version: "latest" },
      mapping: { type: "G" },
    })),
  );

const schemaRef = (schema: string | object, domain: string) =>
  typeof schema === "string"
    ? { key: schema, domain, flow: "sys-schemas", version: "latest" }
    : schema;

/** A component of any kind: `aComponent("sys-tasks", "note", { type: "7", config: {} })`. */
export const aComponent = (
  flow: string,
  key: string,
  attributes: object,
  envelope: Partial<Component> = {},
): Component => ({
  key,
  flow,
  flowVersion: "1.0.0",
  domain: defaultDomain,
  version: "1.0.0",
  tags: [],
  attributes: { ...attributes },
  ...envelope,
});

/** A schema component around a JSON Schema document. */
export const aSchema = (key: string, schema: object, envelope: Partial<Component> = {}) =>
  aComponent("sys-schemas", key, { type: "workflow", labels: labelled(key), schema }, envelope);
