import type { JobType } from "../../engine/job-name.ts";
import { StorageUnavailable } from "../../engine/storage-unavailable.ts";
import type { Job, JobStore } from "../job-store.ts";
import { sqlState, type Queries } from "./database.ts";

const jobColumns = `j.id, j.kind, j.instance_id, i.domain, i.flow, j.source_state, j.transition_key,
  j.payload, j.attempts`;

// A job that had an owner is taken from somebody: the instance's rev is raised, and whatever that
// owner still wants to write is refused. Writers lock the instance first and its jobs then, so an
// instance that is locked is left for the next look: waiting for it could wait in a circle.
const claimJobs = {
  name: "claim-jobs",
  text: `
    with free as (
      select id from job where ready_at <= now() and owner is null
      order by ready_at limit $2 for update skip locked),
    deserted as (
      select j.id from job j join instance i on i.id = j.instance_id
      where j.ready_at <= now() and j.owner is not null
      order by j.ready_at limit $2 - (select count(*) from free) for update skip locked),
    -- to start a child that is not there yet, whose id keeps it from being started twice; or to cancel
    -- one that never came to be
    unborn as (
      select j.id from job j
      where j.ready_at <= now() and j.owner is not null
        and not exists (select from instance i where i.id = j.instance_id)
      order by j.ready_at limit $2 - (select count(*) from free) for update skip locked),
    claimed as (
      update job j set owner = $1, attempts = j.attempts + 1,
        ready_at = now() + make_interval(secs => $3)
      where j.id in (select id from free union all select id from deserted
        union all select id from unborn)
      returning j.*),
    fenced as (
      update instance i set rev = i.rev + 1
      from claimed c join deserted on deserted.id = c.id where i.id = c.instance_id)
    select ${jobColumns} from claimed j left join instance i on i.id = j.instance_id`,
};

const reloadJob = {
  name: "reload-job",
  text: `
    select ${jobColumns} from job j left join instance i on i.id = j.instance_id
    where j.id = $1 and j.attempts = $2 and j.owner = $3`,
};

const nextDue = {
  name: "next-due",
  text: `
    select extract(epoch from min(ready_at) - now()) * 1000 as ms
    from job where ready_at > now()`,
};

const releaseJob = {
  name: "release-job",
  text: `
    update job set owner = null, ready_at = now() + make_interval(secs => $4)
    where id = $1 and attempts = $2 and owner = $3`,
};

const releaseJobs = {
  name: "release-jobs",
  text: `
    with freed as (
      update job set ready_at = now()
      where owner = $1 and ready_at > now() and id <> all ($2::uuid[])
        and ready_at <= now() + make_interval(secs => $3)
      returning 1)
    select count(*)::int as freed from freed`,
};

const takePause = {
  name: "take-pause",
  text: `
    with taken as (
      update job set owner = $2, attempts = attempts + 1,
        ready_at = now() + make_interval(secs => $3)
      where instance_id = $1 and kind = 'la' and owner is null
      returning *)
    select ${jobColumns} from taken j join instance i on i.id = j.instance_id`,
};

const removeJob = {
  name: "remove-job",
  text: "delete from job where id = $1 and attempts = $2 and owner = $3",
};

const findJob = { name: "find-job", text: "select 1 from job where id = $1" };

// A resumption is a run once it has written something; until then it waits like a timer.
const findRun = {
  name: "find-run",
  text: `
    select 1 from job
    where instance_id = $1
      and (kind = 'tx' or (kind in ('rs', 'la') and payload::json -> 'checkpoint' is not null))
    limit 1`,
};

const findStart = {
  name: "find-start",
  text: "select 1 from job where instance_id = $1 and kind = 'sf' limit 1",
};

const beatNode = {
  name: "beat-node",
  text: `
    insert into node (id, started_at, alive_until)
    values ($1, now(), now() + make_interval(secs => $2))
    on conflict (id) do update set alive_until = excluded.alive_until
    -- only an update leaves a mark there
    returning xmax <> 0 as was_there`,
};

// The jobs stay with their dead owner's name until somebody claims them: that is how the claim knows
// that it takes over. All nodes sweep; what another one has in hand is left to it.
const sweepNodes = {
  name: "sweep-nodes",
  text: `
    with dead as (
      delete from node where id in (
        select id from node where alive_until < now() for update skip locked)
      returning id),
    freed as (
      update job set ready_at = now() where id in (
        select j.id from job j
        where j.owner is not null and j.ready_at > now()
          and (j.owner in (select id from dead)
            or not exists (select from node n where n.id = j.owner))
        for update skip locked)
      returning 1)
    select (select count(*)::int from freed) as freed,
      (select coalesce(array_agg(id::text), '{}') from dead) as nodes`,
};

const leaveNode = { name: "leave-node", text: "delete from node where id = $1" };

interface JobRow {
  id: string;
  kind: JobType;
  instance_id: string;
  domain: string | null;
  flow: string | null;
  source_state: string | null;
  transition_key: string | null;
  payload: string | null;
  attempts: number;
}

export interface JobStoreOptions {
  queries: Queries;
  /** A connection of its own: a node must not count as dead because its others are all in use. */
  heartbeat: Queries;
  leaseSeconds: number;
}

export const createJobStore = ({
  queries,
  heartbeat,
  leaseSeconds,
}: JobStoreOptions): JobStore => ({
  async claim(owner, most) {
    const rows = await queries.query<JobRow>(claimJobs, [owner, most, leaseSeconds]);
    if (rows.length === most) return { jobs: rows.map(toJob), nextDueMs: 0 };
    const [next] = await queries.query<{ ms: string | null }>(nextDue);
    const ms = next?.ms ?? undefined;
    return { jobs: rows.map(toJob), nextDueMs: ms === undefined ? undefined : Number(ms) };
  },
  async reload({ id, attempts }, owner) {
    const [row] = await queries.query<JobRow>(reloadJob, [id, attempts, owner]);
    return row === undefined ? undefined : toJob(row);
  },
  async release({ id, attempts }, owner, delayMs) {
    await queries.query(releaseJob, [id, attempts, owner, delayMs / 1000]);
  },
  async releaseAll(owner, held, spareSeconds = 0) {
    const values = [owner, held, leaseSeconds - spareSeconds];
    const [row] = await queries.query<{ freed: number }>(releaseJobs, values);
    return row!.freed;
  },
  async remove({ id, attempts }, owner) {
    await queries.query(removeJob, [id, attempts, owner]);
  },
  async takePause(instanceId, owner) {
    const [row] = await queries.query<JobRow>(takePause, [instanceId, owner, leaseSeconds]);
    return row === undefined ? undefined : toJob(row);
  },
  async isThere(jobId) {
    return (await queries.query(findJob, [jobId])).length > 0;
  },
  async hasRun(instanceId) {
    return (await queries.query(findRun, [instanceId])).length > 0;
  },
  async isStarting(instanceId) {
    return (await queries.query(findStart, [instanceId])).length > 0;
  },
  async beat(owner, aliveSeconds) {
    const beat = (on: Queries) => on.query<{ was_there: boolean }>(beatNode, [owner, aliveSeconds]);
    const [row] = await beat(heartbeat).catch((error: unknown) => {
      // No connection is left for the heartbeat. Those who have one go on working: they live.
      if (!isOutOfConnections(error)) throw error;
      return beat(queries);
    });
    return row!.was_there;
  },
  async sweep() {
    const [row] = await heartbeat.query<{ nodes: string[]; freed: number }>(sweepNodes);
    return row!;
  },
  async leave(owner) {
    await heartbeat.query(leaveNode, [owner]);
  },
});

const tooManyConnections = "53300";

const isOutOfConnections = (error: unknown) =>
  error instanceof StorageUnavailable && sqlState(error.cause) === tooManyConnections;

const toJob = (row: JobRow): Job => ({
  id: row.id,
  type: row.kind,
  instanceId: row.instance_id,
  // An instance that is gone leaves nothing to do; the runner removes such a job.
  domain: row.domain ?? "",
  flow: row.flow ?? "",
  sourceState: row.source_state ?? undefined,
  transitionKey: row.transition_key ?? undefined,
  payload: row.payload ?? undefined,
  attempts: row.attempts,
});
