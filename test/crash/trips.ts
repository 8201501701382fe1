/**
 * Workflows within workflows, three deep, that count how often a child's end was applied:
 *
 * trip   `travel` opens a leg, and after it a blink; then it is `home`. `abandon` cancels it. On its
 *        way from the one to the other it reaches outside: it keeps a stamp in a state store.
 * leg    opens a stop at once, and ends with it
 * stop   waits for `leave`, and ends
 * blink  ends as soon as it is started
 */
import { slot } from "../support/a-script-slot.ts";
import { aComponent, aWorkflow, defaultDomain, hook } from "../support/a-workflow.ts";
import { rowsOf } from "./promises.ts";

const opens = (key: string) => ({
  type: "subFlow" as const,
  subFlow: {
    type: "S",
    process: { key, domain: defaultDomain, flow: "sys-flows", version: "1.0.0" },
    mapping: slot(`
      export function InputHandler(context) { return { Data: { trip: context.Instance.Data.trip } }; }
      export function OutputHandler(context) {
        const { ended = {} } = context.Instance.Data;
        return { Data: { ended: { ...ended, ${key}: (ended.${key} ?? 0) + 1 } } };
      }`),
  },
});

const end = { type: "finish", subType: "success" } as const;
const gone = { type: "finish", subType: "cancelled" } as const;

export const trips = [
  aComponent("sys-tasks", "stamp", {
    type: "17",
    config: { command: "set", key: "stamp", value: true },
  }),
  aWorkflow("stop")
    .state("waiting")
    .transition("leave", { to: "left" })
    .state("left", end)
    .state("gone", gone)
    .cancel("scrap", { to: "gone" }),
  aWorkflow("blink")
    .state("open")
    .transition("on", { to: "over", otherwise: true })
    .state("over", end),
  aWorkflow("leg")
    .state("open")
    .transition("begin", { to: "stopping", otherwise: true })
    .state("stopping", opens("stop"))
    .transition("on", { to: "over", otherwise: true })
    .state("over", end),
  aWorkflow("trip")
    .state("open")
    .transition("travel", { to: "travelling" })
    .state("travelling", opens("leg"))
    .transition("land", { to: "blinking", otherwise: true, onExecutionTasks: hook("stamp") })
    .state("blinking", opens("blink"))
    .transition("arrive", { to: "home", otherwise: true })
    .state("home")
    .transition("again")
    .state("abandoned", gone)
    .cancel("abandon", { to: "abandoned" }),
];

interface Row {
  flow: string;
  trip: string;
  status: string;
  state: string;
  ended: Record<string, number> | null;
  made: string[];
}

/** What is wrong with trips that should be home by now: each child started once, each end applied once. */
export async function wrongTrips(url: string, names: readonly string[]): Promise<string[]> {
  return wrong(url, names, (flow) => homeward[flow]!);
}

/** The same of trips that were abandoned while their stop waited. */
export async function wrongAbandoned(url: string, names: readonly string[]): Promise<string[]> {
  return wrong(url, names, (flow) => abandoned[flow]);
}

interface Expected {
  status: string;
  state: string;
  ended: object | null;
  made: string[];
}

const homeward: Readonly<Record<string, Expected>> = {
  trip: {
    status: "A",
    state: "home",
    ended: { leg: 1, blink: 1 },
    made: ["start", "travel", "land", "arrive"],
  },
  leg: { status: "C", state: "over", ended: { stop: 1 }, made: ["start", "begin", "on"] },
  stop: { status: "C", state: "left", ended: null, made: ["start", "leave"] },
  blink: { status: "C", state: "over", ended: null, made: ["start", "on"] },
};

/** A leg has no cancel of its own: it ends where it is. */
const abandoned: Readonly<Record<string, Expected>> = {
  trip: { status: "C", state: "abandoned", ended: null, made: ["start", "travel", "abandon"] },
  leg: { status: "C", state: "stopping", ended: null, made: ["start", "begin", "cancel"] },
  stop: { status: "C", state: "gone", ended: null, made: ["start", "scrap"] },
};

async function wrong(
  url: string,
  names: readonly string[],
  expectedOf: (flow: string) => Expected | undefined,
): Promise<string[]> {
  const rows = await rowsOf<Row>(
    url,
    `select flow, data ->> 'trip' as trip, status::text, current_state as state,
       data -> 'ended' as ended,
       (select array_agg(transition_key order by seq) from transition_record where instance_id = i.id) as made
     from instance i where data ->> 'trip' = any ($1) order by flow`,
    [names],
  );
  const found: string[] = [];
  for (const trip of names) {
    for (const flow of Object.keys(homeward)) {
      const expected = expectedOf(flow);
      const seen = rows
        .filter((row) => row.trip === trip && row.flow === flow)
        .map(({ status, state, ended, made }) => JSON.stringify([status, state, ended, made]));
      const wanted =
        expected === undefined
          ? []
          : [JSON.stringify([expected.status, expected.state, expected.ended, expected.made])];
      if (seen.join() !== wanted.join()) {
        found.push(`${trip}: ${flow} is ${seen.join(" and ")} instead of ${wanted.join()}`);
      }
    }
  }
  const open = await rowsOf<{ child: string }>(
    url,
    `select child_flow || ' ' || coalesce(outcome, 'open') as child from correlation
     where completed_at is null and kind = 'S'`,
  );
  return [...found, ...open.map(({ child }) => `the correlation of ${child} is not closed`)];
}
