/** Access chains: `context.Body.items[0]?.name.ToUpper()`, and static calls: `Math.Abs(x)`. */
import { listed, type Compiled, type Compiler, type Step } from "./compiler.ts";
import type { Evaluation } from "./evaluation.ts";
import type { View } from "./expression-context.ts";
import type { Kind } from "./kinds.ts";
import { methods } from "./methods.ts";
import { textMaker } from "./operators.ts";
import { staticTypes } from "./statics.ts";
import type { ChainNode, Link, MethodLink } from "./syntax-tree.ts";
import { elementOf, excerpt, jsonOrNull, memberOf } from "./values.ts";

export function compileChain(compiler: Compiler, chain: ChainNode): Compiled {
  const start = compileStatic(compiler, chain) ?? {
    ...compiler.node(chain.base),
    links: chain.links,
  };
  let { kind, view } = start;
  const steps: ChainStep[] = [];
  for (const link of start.links) {
    if (view === undefined) {
      const step = compileLink(compiler, chain, link, kind);
      steps.push(step);
      kind = step.kind;
    } else {
      const member = listedMember(compiler, view, link);
      steps.push(listedStep(member.name, link.optional));
      view = member.view;
    }
  }
  const step = withSteps(start.step, steps);
  return view === undefined ? { step, kind } : { step, kind, view };
}

interface ChainStep {
  readonly kind: Kind;
  readonly optional: boolean;
  apply(run: Evaluation, receiver: unknown): unknown;
}

/** A listed member of the context is read as it is: the caller made the object. */
const listedStep = (name: string, optional: boolean): ChainStep => ({
  kind: "any",
  optional,
  apply: (_run, receiver) =>
    receiver === null ? null : jsonOrNull((receiver as Record<string, unknown>)[name]),
});

function withSteps(start: Step, steps: readonly ChainStep[]): Step {
  if (steps.length === 0) return start;
  return (run) => {
    let value = start(run);
    for (const step of steps) {
      if (value === null && step.optional) return null;
      value = step.apply(run, value);
    }
    return value;
  };
}

function listedMember(compiler: Compiler, view: View, link: Link) {
  const member = link.type === "member" ? view.get(link.name.toLowerCase()) : undefined;
  if (member !== undefined) return member;
  const wanted = link.type === "index" ? "An index" : `'${link.name}'`;
  const members = listed([...view.values()].map(({ name }) => name));
  throw compiler.refusal(link.at, `${wanted} is not available here; there are: ${members}.`);
}

function compileLink(compiler: Compiler, chain: ChainNode, link: Link, kind: Kind): ChainStep {
  const { optional, at } = link;
  if (link.type === "method") return compileMethod(compiler, chain, link, kind);
  if (link.type === "member") {
    const { name } = link;
    return {
      optional,
      // Of a text it can only be the length; of a JSON object it may be data.
      kind: kind === "text" ? "int" : "any",
      apply: (run, receiver) => memberOf(run, receiver, name),
    };
  }
  const index = compiler.value(link.index).step;
  return {
    optional,
    kind: "any",
    apply(run, receiver) {
      const value = index(run);
      run.at = at;
      return elementOf(run, receiver, value);
    },
  };
}

function compileMethod(
  compiler: Compiler,
  chain: ChainNode,
  { name, args, at, optional, receiverEnd }: MethodLink,
  receiverKind: Kind,
): ChainStep {
  const method = methods.get(name);
  if (method === undefined) {
    const sentence = `There is no method '${name}'; there are: ${listed(methods.keys())}.`;
    throw compiler.refusal(at, sentence);
  }
  checkCount(compiler, at, name, method.takes, args.length);
  const call = name === "ToString" ? textMaker(receiverKind) : method.call;
  const steps = args.map((arg) => compiler.value(arg).step);
  const subject = excerpt(compiler.source.slice(chain.at, receiverEnd), 100);
  return {
    optional,
    kind: method.kind,
    apply(run, receiver) {
      const values = steps.map((step) => step(run));
      run.at = at;
      run.subject = subject;
      return call(run, receiver, values);
    },
  };
}

/** `Math.Abs(x)` and `string.Empty` take the type's name and the first link together. */
function compileStatic(compiler: Compiler, { base, links }: ChainNode) {
  const type = base.type === "name" ? staticTypes.get(base.name) : undefined;
  const [link, ...rest] = links;
  if (base.type !== "name" || type === undefined || link === undefined) return undefined;
  const isEmptyText = base.name.toLowerCase() === "string" && link.type === "member";
  if (isEmptyText && link.name === "Empty") {
    return { step: () => "", kind: "text" as Kind, view: undefined, links: rest };
  }
  const method = link.type === "method" ? type.get(link.name) : undefined;
  if (method === undefined || link.type !== "method") {
    const sentence = `'${base.name}' has only these methods: ${listed(type.keys())}.`;
    throw compiler.refusal(link.at, sentence);
  }
  checkCount(compiler, link.at, link.name, method.takes, link.args.length);
  const args = link.args.map((arg) => compiler.value(arg));
  const kinds = args.map(({ kind }) => kind);
  const step: Step = (run) => {
    const values = args.map((arg) => arg.step(run));
    run.at = link.at;
    return method.call(run, values, kinds);
  };
  return { step, kind: method.kind(kinds), view: undefined, links: rest };
}

function checkCount(
  compiler: Compiler,
  at: number,
  name: string,
  [fewest, most]: readonly [number, number],
  count: number,
): void {
  if (count >= fewest && count <= most) return;
  const range =
    fewest === most
      ? `${fewest}`
      : Number.isFinite(most)
        ? `${fewest} to ${most}`
        : `at least ${fewest}`;
  throw compiler.refusal(at, `'${name}' takes ${range} arguments, not ${count}.`);
}
