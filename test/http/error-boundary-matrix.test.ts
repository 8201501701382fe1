/**
 * What comes of a failure: each class of failure, at each level that may have an error boundary, with
 * each action, with and without a transition. What is expected is said once, by `expected`.
 */
import { describe, expect, test } from "vitest";
import { aScriptTask, output, slot, taskWith } from "../support/a-script-slot.ts";
import { auditAtEnd } from "../support/audited.ts";
import { aWebServerForFile } from "../support/a-web-server.ts";
import { aComponent, aSchema, aWorkflow } from "../support/a-workflow.ts";
import { instancesOf, movesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile({
  settings: { "Egress.Allow": ["loopback"] },
});
auditAtEnd(app);

/** `/silent/…` never answers, everything else is 503; the cell is the last part. */
const server = await aWebServerForFile(({ url }, _request, response) => {
  if (!url.startsWith("/silent")) response.writeHead(503).end();
});
/** Nobody listens there any more. */
const deadPort = 1;

const failures = ["transport", "status", "timeout", "script", "schema", "pipeline"] as const;
const levels = ["none", "task", "state", "workflow", "parent"] as const;
const actions = ["abort", "retry", "rollback", "ignore", "notify", "log"] as const;
type Failure = (typeof failures)[number];
type Level = (typeof levels)[number];
type Action = (typeof actions)[number];

interface Cell {
  failure: Failure;
  level: Level;
  action: Action;
  transition: boolean;
}

/** Publish refuses rollback and notify without a transition. */
const isPossible = ({ action, transition }: Cell) =>
  transition || (action !== "rollback" && action !== "notify");

const cells: Cell[] = failures.flatMap((failure) =>
  levels.flatMap((level): Cell[] =>
    level === "none"
      ? [{ failure, level, action: "abort", transition: false }]
      : actions
          .flatMap((action) =>
            [true, false].map((transition) => ({ failure, level, action, transition })),
          )
          .filter(isPossible),
  ),
);

const errors: Record<Failure, { errorCode: string; errorLayer: string; statusCode?: number }> = {
  transport: { errorCode: "Task:Http:Exception", errorLayer: "Transport" },
  status: { errorCode: "Task:Http:503", errorLayer: "Task", statusCode: 503 },
  timeout: { errorCode: "Task:Http:Exception", errorLayer: "Transport" },
  script: { errorCode: "Task:400008", errorLayer: "Task" },
  schema: { errorCode: "App:900002", errorLayer: "Task" },
  pipeline: { errorCode: "Task:400007", errorLayer: "Pipeline" },
};

const retries = 2;

// --- the model -------------------------------------------------------------------------------

interface Result {
  state: string;
  status: string;
  incidents: object[];
  moves: string[];
  /** Of the server; undefined where it is not asked. */
  calls: number | undefined;
}

const reachesServer = (failure: Failure) => failure === "status" || failure === "timeout";

/** What the instance that failed shows, and, below a parent, what its parent shows. */
function expected(cell: Cell): Result {
  return cell.level === "parent" ? expectedOfParent(cell) : expectedOfFlow(cell);
}

const open = "go: open-undefined";

function expectedOfFlow({ failure, level, action, transition }: Cell): Result {
  // Nobody asks a boundary about what fails outside of the hooks.
  const isAsked = level !== "none" && failure !== "pipeline";
  // What the master schema refuses is seen when the tasks are through.
  const made = isAsked && action === "retry" && failure !== "schema" ? retries : 0;
  const calls = reachesServer(failure) ? 1 + made : undefined;
  const start = "start: open-open";
  if (isAsked && (action === "ignore" || action === "log")) {
    return { state: "done", status: "A", incidents: [], moves: [start, "go: open-done"], calls };
  }
  // When the retries are used up, a retry rule has nothing more to say.
  const decides = isAsked && action !== "retry";
  const goesOn = decides && transition;
  const incident = {
    ...errors[failure],
    state: "open",
    transition: "go",
    ...(decides ? { boundaryAction: capitalised(action), boundaryLevel: levelNames[level] } : {}),
    retryCount: made,
    isResolved: goesOn,
  };
  return goesOn
    ? {
        state: "compensated",
        status: "A",
        incidents: [incident],
        moves: [start, open, "compensate: open-compensated"],
        calls,
      }
    : { state: "open", status: "F", incidents: [incident], moves: [start, open], calls };
}

/** The parent hears of the child's fault with the child's code; a retry there is an abort. */
function expectedOfParent({ failure, action, transition }: Cell): Result {
  const { statusCode } = errors[failure];
  const isIgnored = action === "ignore" || action === "log";
  const goesOn = isIgnored || transition;
  const incident = {
    errorCode: errors[failure].errorCode,
    errorLayer: "Pipeline",
    ...(statusCode === undefined ? {} : { statusCode }),
    state: "inside",
    transition: "$resume",
    boundaryAction: capitalised(action),
    boundaryLevel: "State",
    retryCount: 0,
    isResolved: goesOn,
  };
  const before = ["start: begin-begin", "enter: begin-inside"];
  const calls = reachesServer(failure) ? 1 : undefined;
  const at = (state: string, status: string, ...moves: string[]): Result => ({
    state,
    status,
    incidents: [incident],
    moves: [...before, ...moves],
    calls,
  });
  if (isIgnored) return at("after", "A", "next: inside-after");
  return transition ? at("compensated", "A", "compensate: inside-compensated") : at("inside", "F");
}

const levelNames: Record<Level, string> = {
  none: "",
  task: "Task",
  state: "State",
  workflow: "Global",
  parent: "State",
};

const capitalised = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

// --- the real thing --------------------------------------------------------------------------

await app.publish(
  aScriptTask("script"),
  aScriptTask("after"),
  aSchema("numbers", { type: "object", properties: { amount: { type: "number" } } }),
);

const urls: Partial<Record<Failure, string>> = {
  transport: `http://127.0.0.1:${deadPort}`,
  status: `${server.url}/error`,
  timeout: `${server.url}/silent`,
};

const policy = {
  initialDelay: "PT0.001S",
  maxRetries: retries,
  backoffType: "fixed",
  useJitter: false,
};

const boundaryOf = ({ action, transition }: Cell) => ({
  errorBoundary: {
    onError: [
      {
        action,
        ...(transition ? { transition: "compensate" } : {}),
        ...(action === "retry" ? { retryPolicy: policy } : {}),
      },
    ],
  },
});

const onlyAt = (cell: Cell, level: Level) => (cell.level === level ? boundaryOf(cell) : {});

async function failingTask(cell: Cell, key: string): Promise<object> {
  const url = urls[cell.failure];
  const own = onlyAt(cell, "task");
  if (url === undefined) {
    const body =
      cell.failure === "script"
        ? "throw new Error('broken');"
        : "return { Data: { amount: 'many' } };";
    const isPipeline = cell.failure === "pipeline";
    return { ...taskWith("script", output(isPipeline ? "return {};" : body)), ...own };
  }
  const limit = cell.failure === "timeout" ? { timeoutSeconds: 1 } : {};
  const config = { url: `${url}/${key}`, method: "POST", ...limit };
  await app.publish(aComponent("sys-tasks", key, { type: "6", config }));
  return { ...taskWith(key, { type: "G" }), ...own };
}

const brokenMapping = { mapping: slot("export function Handler() { throw new Error('broken'); }") };

async function publishCell(cell: Cell, key: string): Promise<void> {
  const after = taskWith("after", output("return { Data: { after: true } };"), 2);
  await app.publish(
    aWorkflow(key)
      .state("open", onlyAt(cell, "state"))
      .transition("go", {
        to: "done",
        onExecutionTasks: [await failingTask(cell, key), after],
        ...(cell.failure === "pipeline" ? brokenMapping : {}),
      })
      .state("done")
      .transition("end", { to: "done" })
      .state("compensated")
      .transition("end", { to: "done" })
      .shared("compensate", { to: "compensated" })
      .schema("numbers")
      .with(onlyAt(cell, "workflow")),
  );
  if (cell.level !== "parent") return;
  const process = { key, domain: "core", flow: "sys-flows", version: "1.0.0" };
  await app.publish(
    aWorkflow(`${key}-parent`)
      .state("begin")
      .transition("enter", { to: "inside" })
      .state("inside", {
        type: "subFlow",
        subFlow: { type: "S", process, mapping: { type: "G" } },
        ...boundaryOf(cell),
      })
      .transition("next", { to: "after", otherwise: true })
      .state("after")
      .transition("end", { to: "after" })
      .state("compensated")
      .transition("end", { to: "after" })
      .shared("compensate", { to: "compensated" }),
  );
}

async function runCell(cell: Cell): Promise<Result & { attributes: unknown }> {
  const { failure, level, action, transition } = cell;
  const key = ["cell", failure, level, action, ...(transition ? ["out"] : [])].join("-");
  await publishCell(cell, key);
  const flow = instancesOf(app, level === "parent" ? `${key}-parent` : key);
  const id = await flow.begin({});
  if (level === "parent") expect(await flow.send(id, "enter")).toMatchObject({ status: 200 });

  const answer = await flow.send(id, "go");

  const { metadata, attributes } = await flow.read(id);
  expect(answer).toMatchObject({ status: 200, body: { id, status: metadata.status } });
  const incidents = await app.get(`${flow.path}/${id}/incidents`);
  const { items, hasActiveIncident } = incidents.body as {
    items: object[];
    hasActiveIncident: boolean;
  };
  expect(metadata["incident"]).toMatchObject({ hasActiveIncident, totalCount: items.length });
  const calls = server.asked.filter(({ url }) => url.endsWith(`/${key}`)).length;
  return {
    state: metadata.currentState,
    status: metadata.status,
    incidents: items.map(essentials),
    moves: movesOf(await flow.history(id)),
    calls: reachesServer(failure) ? calls : undefined,
    attributes,
  };
}

/** What differs from run to run is left out. */
const essentials = (incident: object): object =>
  Object.fromEntries(Object.entries(incident).filter(([name]) => !passing.has(name)));

const passing = new Set(["id", "createdAt", "resolvedAt", "traceId", "message", "task"]);

describe.for(failures)("a failure of the class %s", (failure) => {
  const own = cells
    .filter((cell) => cell.failure === failure)
    .map((cell) => ({ ...cell, with: cell.transition ? "with" : "without" }));

  test.concurrent.for(own)("level $level, action $action $with a transition", async (cell) => {
    const { attributes, ...result } = await runCell(cell);

    expect(result).toEqual(expected(cell));
    // The rest of a hook is not made up for.
    expect(attributes).not.toHaveProperty("after");
  });
});
