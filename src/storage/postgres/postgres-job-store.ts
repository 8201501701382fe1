import type { JobType } from "../../engine/job-name.ts";
import type { Job, JobStore } from "../job-store.ts";
import type { Queries } from "./database.ts";

// A job that had an owner was taken from somebody: the rev is raised, and whatever that owner still
// wants to write is refused.
const claimJobs = {
  name: "claim-jobs",
  text: `
    with due as (
      select id, owner is not null as taken from job where ready_at <= now()
      order by ready_at limit $2 for update skip locked),
    claimed as (
      update job j set owner = $1, attempts = j.attempts + 1,
        ready_at = now() + make_interval(secs => $3)
      from due where j.id = due.id
      returning j.*, due.taken),
    fenced as (
      update instance i set rev = i.rev + 1 from claimed c where c.taken and i.id = c.instance_id)
    select c.id, c.kind, c.instance_id, i.domain, i.flow, c.source_state, c.transition_key,
      c.payload, c.attempts
    from claimed c left join instance i on i.id = c.instance_id`,
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
    update job set owner = null, ready_at = now() + make_interval(secs => $3)
    where id = $1 and owner = $2`,
};

const releaseJobs = {
  name: "release-jobs",
  text: "update job set owner = null, ready_at = now() where owner = $1",
};

const removeJob = { name: "remove-job", text: "delete from job where id = $1 and owner = $2" };

const findOwner = { name: "find-owner", text: "select 1 from job where id = $1 and owner = $2" };

const beatNode = {
  name: "beat-node",
  text: `
    insert into node (id, started_at, alive_until)
    values ($1, now(), now() + make_interval(secs => $2))
    on conflict (id) do update set alive_until = excluded.alive_until`,
};

// The jobs stay with their dead owner's name until somebody claims them: that is how the claim knows
// that it takes over.
const sweepNodes = {
  name: "sweep-nodes",
  text: `
    with dead as (
      delete from node where alive_until < now() returning id),
    freed as (
      update job set ready_at = now()
      where owner is not null and ready_at > now()
        and (owner in (select id from dead) or not exists (select from node n where n.id = job.owner))
      returning 1)
    select count(*)::int as freed from freed`,
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

export const createJobStore = (queries: Queries, leaseSeconds: number): JobStore => ({
  async claim(owner, most) {
    const rows = await queries.query<JobRow>(claimJobs, [owner, most, leaseSeconds]);
    if (rows.length === most) return { jobs: rows.map(toJob), nextDueMs: 0 };
    const [next] = await queries.query<{ ms: string | null }>(nextDue);
    const ms = next?.ms ?? undefined;
    return { jobs: rows.map(toJob), nextDueMs: ms === undefined ? undefined : Number(ms) };
  },
  async release(jobId, owner, delayMs) {
    await queries.query(releaseJob, [jobId, owner, delayMs / 1000]);
  },
  async releaseAll(owner) {
    await queries.query(releaseJobs, [owner]);
  },
  async remove(jobId, owner) {
    await queries.query(removeJob, [jobId, owner]);
  },
  async isOwner(jobId, owner) {
    return (await queries.query(findOwner, [jobId, owner])).length > 0;
  },
  async beat(owner, aliveSeconds) {
    await queries.query(beatNode, [owner, aliveSeconds]);
  },
  async sweep() {
    const [row] = await queries.query<{ freed: number }>(sweepNodes);
    return row!.freed;
  },
  async leave(owner) {
    await queries.query(leaveNode, [owner]);
  },
});

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
