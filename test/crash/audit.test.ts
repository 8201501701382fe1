/** The auditor finds what a test breaks on purpose, and nothing else. */
import { expect, test } from "vitest";
import { aWorkflow } from "../support/a-workflow.ts";
import { instancesOf } from "../support/instances-of.ts";
import { aFolder, runCli } from "../support/start-cli.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";
import { childOf, inside } from "../support/subflows.ts";
import { auditOf, rowsOf } from "./promises.ts";

const app = await startRuntimeForFile();
await app.publish(
  aWorkflow("door")
    .state("closed")
    .transition("open", { to: "ajar" })
    .state("ajar")
    .transition("close", { to: "closed" })
    .transition("slam", { to: "closed", timer: "PT1H" })
    .updateData("paint")
    .cancel("remove", { to: "removed" })
    .timeout("rot", { to: "removed", after: "P365D" })
    .state("removed", { type: "finish", subType: "success" }),
  aWorkflow("key")
    .state("lost")
    .transition("find", { to: "found" })
    .state("found", { type: "finish", subType: "success" }),
  aWorkflow("chest")
    .state("shut")
    .transition("look", { to: "looking" })
    .state("looking", inside("key"))
    .transition("open", { to: "open", otherwise: true })
    .state("open"),
);
const doors = instancesOf(app, "door");
const chests = instancesOf(app, "chest");

async function anOpenDoor(): Promise<string> {
  const id = await doors.begin();
  for (const transition of ["open", "paint", "close", "open"]) {
    expect(await doors.send(id, transition)).toMatchObject({ status: 200 });
  }
  return id;
}

const sql = (text: string, ...values: unknown[]) => rowsOf(app.databaseUrl, text, values);

const jobOf = (id: string, kind: string, state: string | null, key: string | null) =>
  sql(
    `insert into job (id, name, kind, instance_id, source_state, transition_key, ready_at, created_at)
     values (gen_random_uuid(), $2::text || gen_random_uuid(), $2, $1, $3, $4, now() + interval '1 h', now())`,
    id,
    kind,
    state,
    key,
  );

const incidentOf = (id: string) =>
  sql(
    `insert into incident (id, instance_id, number, state, transition, message, created_at)
     values (gen_random_uuid(), $1, 1, 'ajar', 'close', 'jammed', now())`,
    id,
  );

const breaches: [string, (id: string) => Promise<unknown>, string[]][] = [
  ["nothing broken", async () => {}, []],
  [
    "Busy with nobody at work",
    (id) => sql("update instance set status = 'B' where id = $1", id),
    ["It is Busy in the state 'ajar', which parks nobody, and no run owns it."],
  ],
  [
    "Busy with a run",
    async (id) => {
      await sql("update instance set status = 'B' where id = $1", id);
      await jobOf(id, "tx", "ajar", "close");
    },
    [],
  ],
  [
    "Busy until the caller's poll has been answered",
    async (id) => {
      await sql("update instance set status = 'B' where id = $1", id);
      await jobOf(id, "la", "ajar", "open");
      await sql("delete from job where instance_id = $1 and kind = 'sx'", id);
    },
    [],
  ],
  [
    "an incident that a run deals with",
    async (id) => {
      await sql(
        "update instance set status = 'B', has_active_incident = true, incident_count = 1 where id = $1",
        id,
      );
      await jobOf(id, "tx", "ajar", "close");
      await incidentOf(id);
    },
    [],
  ],
  [
    "a record is missing",
    (id) => sql("delete from transition_record where instance_id = $1 and seq = 3", id),
    ["Its last record is number 5, but it has 4 records up to number 5."],
  ],
  [
    "a record begins elsewhere",
    (id) =>
      sql(
        "update transition_record set from_state = 'ajar' where instance_id = $1 and seq = 5",
        id,
      ),
    ["Record 5 begins in 'ajar', but record 4 ended in 'closed'."],
  ],
  [
    "the last record leads elsewhere",
    (id) =>
      sql(
        "update transition_record set to_state = 'closed' where instance_id = $1 and seq = 5",
        id,
      ),
    ["Record 5 ended in 'closed', but it is in 'ajar'."],
  ],
  [
    "a record is open",
    (id) =>
      sql(
        "update transition_record set finished_at = null, to_state = null where instance_id = $1 and seq = 5",
        id,
      ),
    ["It is A with 1 open record(s) and no run that would close them."],
  ],
  [
    "data was merged while the state changed",
    (id) =>
      sql(
        "update transition_record set from_state = 'closed', to_state = 'closed' where instance_id = $1 and seq = 3",
        id,
      ),
    [],
  ],
  [
    "Faulted without an incident",
    (id) => sql("update instance set status = 'F' where id = $1", id),
    ["It is Faulted without an open incident."],
  ],
  [
    "an incident nobody counted",
    (id) => incidentOf(id),
    [
      "It is A with 1 open incident(s).",
      "Its flag hasActiveIncident is false, its open incidents are 1.",
      "Its incident count is 0, its incidents are 1.",
    ],
  ],
  [
    "a timer is lost",
    (id) => sql("delete from job where instance_id = $1 and kind = 'sx'", id),
    ["The timer 'slam' of its state 'ajar' is set 0 times."],
  ],
  [
    "a timer of a state that was left",
    (id) => jobOf(id, "sx", "closed", "slam"),
    ["The timer 'slam' of the state 'closed' is set, but that state was left."],
  ],
  [
    "the timeout is lost",
    (id) => sql("delete from job where instance_id = $1 and kind = 'to'", id),
    ["The timeout 'rot' of its workflow is set 0 times."],
  ],
  [
    "a job of a completed instance",
    async (id) => {
      await doors.send(id, "remove");
      await jobOf(id, "to", null, null);
    },
    ["It is Completed and has 0 queued transition(s) and 1 timer(s)."],
  ],
  [
    "an instance is gone",
    (id) => sql("delete from instance where id = $1", id),
    ["is there, its instance is not.", "is there, its instance is not."],
  ],
];

test.for(breaches)("the audit tells: %s", async ([, breach, expected]) => {
  const id = await anOpenDoor();

  await breach(id);

  const findings = (await auditOf(app.databaseUrl)).filter((it) => it.instanceId === id);
  expect(findings.map((it) => it.message)).toEqual(
    expected.map((message) => expect.stringContaining(message)),
  );
});

const breachesOfWaiting: [string, (id: string, child: string) => Promise<unknown>, string[]][] = [
  ["nothing broken", async () => {}, []],
  [
    "its subflow is gone",
    (_, child) => sql("delete from instance where id = $1", child),
    ["which is not there, and nobody is going to start it."],
  ],
  [
    "its subflow is still to be started",
    async (_, child) => {
      await sql("delete from instance where id = $1", child);
      await jobOf(child, "sf", null, null);
    },
    [],
  ],
  [
    "its subflow has ended unnoticed",
    (_, child) => sql("update correlation set outcome = 'completed' where child_id = $1", child),
    ["which is completed, and no run takes note of it."],
  ],
  [
    "its subflow has ended, and a run will see to it",
    async (id, child) => {
      await sql("update correlation set outcome = 'completed' where child_id = $1", child);
      await jobOf(id, "rs", "looking", child.replaceAll("-", ""));
    },
    [],
  ],
  [
    "its correlation has ended, and it still waits",
    (_, child) => sql("update correlation set completed_at = now() where child_id = $1", child),
    ["which has no open correlation."],
  ],
  [
    "it waits for nobody, but its correlation says so",
    (id) => sql("update instance set open_child = null where id = $1", id),
    [
      "counts as waited for, but it does not wait for it.",
      "It shows the state 'lost', but it is in 'looking'.",
    ],
  ],
  [
    "it shows another state than its subflow",
    (id) => sql("update instance set effective_state = 'elsewhere' where id = $1", id),
    ["It shows the state 'elsewhere', but its subflow"],
  ],
  [
    "Completed, and still waiting",
    (id) => sql("update instance set status = 'C' where id = $1", id),
    ["It is Completed and waits for the subflow"],
  ],
  [
    "Faulted because its subflow could not be started",
    async (id, child) => {
      await sql("delete from instance where id = $1", child);
      await sql(
        "update instance set status = 'F', has_active_incident = true, incident_count = 1 where id = $1",
        id,
      );
      await incidentOf(id);
    },
    [],
  ],
];

test.for(breachesOfWaiting)(
  "the audit tells of one that waits: %s",
  async ([, breach, expected]) => {
    const id = await chests.begin();
    await chests.send(id, "look");

    await breach(id, await childOf(app, id));

    const findings = (await auditOf(app.databaseUrl)).filter((it) => it.instanceId === id);
    expect(findings.map((it) => it.message)).toEqual(
      expected.map((message) => expect.stringContaining(message)),
    );
  },
);

test("a child that is to be started or cancelled need not be there", async () => {
  const nobody = "00000000-0000-4000-8000-000000000001";
  for (const kind of ["sf", "cc"]) await jobOf(nobody, kind, null, null);

  const found = (await auditOf(app.databaseUrl)).filter((it) => it.instanceId === nobody);

  expect(found).toEqual([]);
});

test("an audit goes through all pages", async () => {
  const ids = [];
  for (let i = 0; i < 120; i += 1) ids.push(await doors.begin());
  for (const id of ids) await sql("update instance set status = 'B' where id = $1", id);

  const found = new Set((await auditOf(app.databaseUrl)).map((it) => it.instanceId));

  expect(ids.filter((id) => !found.has(id))).toEqual([]);
});

test("millrace doctor --audit prints the findings and ends with 1", async () => {
  const id = await anOpenDoor();
  await sql("update instance set status = 'B' where id = $1", id);
  const cwd = await aFolder();

  const { code, stdout } = await runCli(["doctor", "--audit"], {
    cwd,
    env: { DATABASE_URL: app.databaseUrl },
  });

  expect(code).toBe(1);
  expect(stdout).toContain(`core/door ${id}: It is Busy in the state 'ajar'`);
  expect(stdout).toMatch(/\d+ instances audited, \d+ findings\n$/);
});

test.for([
  { what: "password", spoil: (url: URL) => (url.password = "wrong"), says: /refuses the login of/ },
  { what: "encryption", spoil: (url: URL) => (url.search = "?sslmode=verify-full"), says: /encr/ },
])(
  "millrace doctor --audit refuses a $what that will not do in one line",
  async ({ spoil, says }) => {
    const url = new URL(app.databaseUrl);
    spoil(url);

    const { code, stderr } = await runCli(["doctor", "--audit"], {
      cwd: await aFolder(),
      env: { DATABASE_URL: url.href },
    });

    expect(code).toBe(1);
    expect(stderr).toMatch(says);
    expect(stderr).toMatch(/^millrace: .*\n$/);
  },
);

test("millrace doctor --audit needs a database", async () => {
  const { code, stderr } = await runCli(["doctor", "--audit"], { cwd: await aFolder() });

  expect(code).toBe(1);
  expect(stderr).toContain("DATABASE_URL is empty");
});
