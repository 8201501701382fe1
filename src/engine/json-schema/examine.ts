/** Looks at a schema before it is compiled: is it one, and can it do no harm? */
import { dialectOf } from "./dialect.ts";
import { metaSchemaMistakes } from "./meta-schema.ts";
import {
  isSchemaObject,
  limits,
  type SchemaNode,
  schemaNodes,
  type SchemaNodes,
  type Step,
} from "./nodes.ts";
import { compilePattern, PatternMistake } from "./pattern.ts";
import { resolveRef } from "./resolve-ref.ts";

/** Something about the schema itself; `path` leads to it from the schema's root. */
export interface SchemaFinding {
  readonly path: readonly Step[];
  readonly message: string;
}

export interface SchemaExamination {
  readonly mistakes: SchemaFinding[];
  readonly warnings: SchemaFinding[];
  /** Subschemas with a `$ref` to another document. */
  readonly elsewhere: ReadonlySet<unknown>;
  readonly nodes: SchemaNodes;
  /** Steps that one value may take, at most. */
  readonly effort: number;
}

/** How often one value may be evaluated; nested `allOf` of `$ref`s doubles it with each level. */
const mostEvaluations = 10_000;
const longestChain = 200;
/** Of all patterns together: compiling this much takes about a second. */
const mostPatternSteps = 20_000;
const leastPatternSteps = 20;

export function examineSchema(schema: Readonly<Record<string, unknown>>): SchemaExamination {
  const { dialect, known } = dialectOf(schema["$schema"]);
  // What is too deep to walk counts as an empty schema that is too large.
  const nodes = isTooDeep(schema)
    ? { ...schemaNodes({}, dialect), tooLarge: true }
    : schemaNodes(schema, dialect);
  const findings: Findings = {
    mistakes: [],
    warnings: [],
    elsewhere: new Set(),
    nodes,
    effort: 1,
    patternSteps: 0,
  };
  if (nodes.tooLarge) {
    findings.mistakes.push({
      path: [],
      message: `The schema is too large; it may have ${limits.nodes} subschemas, nested ${limits.depth} deep. Split it.`,
    });
    return findings;
  }
  if (!known) {
    findings.warnings.push({
      path: ["$schema"],
      message: "'$schema' names no known dialect; the schema is read as draft 2020-12.",
    });
  }
  findings.mistakes.push(...metaSchemaMistakes(schema, dialect));
  for (const node of nodes.nodes) {
    examinePatterns(node, findings);
    examineRefs(node, findings);
  }
  examineCost(findings);
  return findings;
}

type Findings = SchemaExamination & {
  elsewhere: Set<unknown>;
  effort: number;
  patternSteps: number;
};

function examinePatterns(node: SchemaNode, findings: Findings): void {
  const { pattern, patternProperties } = node.schema;
  if (typeof pattern === "string") tryPattern(pattern, [...node.path, "pattern"], findings);
  if (!isSchemaObject(patternProperties)) return;
  for (const source of Object.keys(patternProperties)) {
    tryPattern(source, [...node.path, "patternProperties", source], findings);
  }
}

function tryPattern(source: string, path: readonly Step[], findings: Findings): void {
  if (findings.patternSteps > mostPatternSteps) return;
  try {
    findings.patternSteps += compilePattern(source).size + leastPatternSteps;
    if (findings.patternSteps <= mostPatternSteps) return;
    const message =
      "The patterns of the schema are too many or too large together; simplify them, or split the schema.";
    findings.mistakes.push({ path, message });
  } catch (error) {
    if (!(error instanceof PatternMistake)) throw error;
    // Finding out that it is too large took its time as well.
    findings.patternSteps += error.size + leastPatternSteps;
    findings.mistakes.push({ path, message: `The pattern ${error.message}.` });
  }
}

const refKeywords = ["$ref", "$dynamicRef", "$recursiveRef"];

function examineRefs(node: SchemaNode, findings: Findings): void {
  for (const keyword of refKeywords) {
    const ref = node.schema[keyword];
    if (typeof ref !== "string") continue;
    const path = [...node.path, keyword];
    const resolved = resolveRef(ref, node, findings.nodes);
    if (resolved.kind === "elsewhere") {
      findings.elsewhere.add(node.schema);
      findings.warnings.push({
        path,
        message:
          "The reference is to another document, which is not fetched; it accepts everything.",
      });
    } else if (resolved.kind === "nowhere") {
      findings.mistakes.push({
        path,
        message:
          "The reference leads to no schema in this document; correct it or add the definition.",
      });
    } else {
      const target = findings.nodes.of(resolved.schema);
      if (target !== undefined) node.inPlace.push(target);
    }
  }
}

interface Effort {
  /** Subschemas evaluated for one value. */
  readonly evaluations: number;
  /** The same, each counted with the lists in it. */
  readonly steps: number;
  /** Longest row of references among them. */
  readonly chain: number;
}

/** Refuses schemas that evaluate themselves forever, very often or very deep on one value. */
function examineCost(findings: Findings): void {
  const known = new Map<SchemaNode, Effort>();
  const open = new Set<SchemaNode>();
  const nothing: Effort = { evaluations: 0, steps: 0, chain: 0 };

  function effortOf(node: SchemaNode): Effort {
    const before = known.get(node);
    if (before !== undefined) return before;
    if (open.has(node)) {
      findings.mistakes.push({
        path: node.path,
        message: "The schema refers to itself for the same value and would never end.",
      });
      return nothing;
    }
    if (open.size > longestChain) return { ...nothing, chain: longestChain };
    open.add(node);
    const inner = node.inPlace.map(effortOf);
    open.delete(node);
    const effort = {
      evaluations: inner.reduce((sum, child) => sum + child.evaluations, 1),
      steps: inner.reduce((sum, child) => sum + child.steps, stepsOf(node)),
      chain: 1 + Math.max(0, ...inner.map((child) => child.chain)),
    };
    known.set(node, effort);
    return effort;
  }

  for (const node of findings.nodes.nodes.toReversed()) {
    const { evaluations, steps, chain } = effortOf(node);
    findings.effort = Math.max(findings.effort, steps);
    if (evaluations <= mostEvaluations && chain <= longestChain) continue;
    findings.mistakes.push({
      path: node.path,
      message: `The schema evaluates one value more than ${mostEvaluations} times, or through more than ${longestChain} references; simplify it.`,
    });
    return;
  }
}

/** Looking whether a member is there costs little, but there may be thousands to look for. */
function stepsOf({ schema: { required, properties, patternProperties } }: SchemaNode): number {
  return 1 + sizeOf(patternProperties) + (sizeOf(required) + sizeOf(properties)) / membersPerStep;
}

const membersPerStep = 50;

const sizeOf = (list: unknown): number =>
  Array.isArray(list) ? list.length : isSchemaObject(list) ? Object.keys(list).length : 0;

/** Nesting of any kind, also inside keywords that hold no schemas. */
function isTooDeep(root: unknown): boolean {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > 2 * limits.depth) return true;
    level = level.flatMap((value) =>
      typeof value === "object" && value !== null ? Object.values(value) : [],
    );
  }
  return false;
}
