import type { PublishJobStore, StoredPublishJob } from "../publish-job-store.ts";
import type { Database } from "./database.ts";

/** Longer than several beats: a process that is busy for a moment is not dead. */
const leaseSeconds = 15;
// "pubj" as four bytes: the lock's name must be a number.
const startLock = 0x70_75_62_6a;

interface JobRow {
  id: string;
  package_name: string;
  status: string;
  phase: string;
  current: number;
  total: number;
  current_file: string;
  results: string | null;
  error: string | null;
  cancel_requested: boolean;
  cancelled_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

const columns = `id, package_name, status, phase, current, total, current_file, results, error,
  cancel_requested, cancelled_at, created_at, updated_at`;
const unfinished = `status in ('accepted', 'processing')`;
// The database's clock: owners on several machines are compared with each other.
const lease = `clock_timestamp() + interval '${leaseSeconds} seconds'`;
const isUuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const createPublishJobStore = (database: Database): PublishJobStore => ({
  async add(job, owner) {
    const [row] = await database.query<{ number: string }>(
      `insert into publish_job (${columns}, owner, owned_until)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, ${lease})
       returning number`,
      [...valuesOf(job), owner],
    );
    return Number(row!.number);
  },

  async find(jobId) {
    if (!isUuid.test(jobId)) return undefined;
    const [row] = await database.query<JobRow>(
      { name: "find-publish-job", text: `select ${columns} from publish_job where id = $1` },
      [jobId],
    );
    return row === undefined ? undefined : jobOf(row);
  },

  start: (jobId, owner, at) =>
    database.transaction(async (queries) => {
      await queries.query("select pg_advisory_xact_lock($1)", [startLock]);
      const rows = await queries.query(
        `update publish_job j set status = 'processing', updated_at = $3
         where id = $1 and owner = $2 and ${unfinished} and not exists (
           select from publish_job e
           where e.id <> j.id and e.owned_until > clock_timestamp()
             and (e.status = 'processing' or e.status = 'accepted' and e.number < j.number))
         returning 1`,
        [jobId, owner, at],
      );
      return rows.length > 0;
    }),

  async saveProgress({ jobId, progress, updatedAt }, owner) {
    const { phase, current, total, currentFile } = progress;
    const [row] = await database.query<{ cancel_requested: boolean }>(
      {
        name: "save-publish-job-progress",
        text: `update publish_job
          set phase = $3, current = $4, total = $5, current_file = $6, updated_at = $7
          where id = $1 and owner = $2 and status = 'processing'
          returning cancel_requested`,
      },
      [jobId, owner, phase, current, total, currentFile, updatedAt],
    );
    if (row === undefined) return "lost";
    return row.cancel_requested ? "cancelRequested" : "kept";
  },

  async finish(job, owner) {
    const { phase, current, total, currentFile } = job.progress;
    const rows = await database.query(
      `update publish_job
       set status = $3, phase = $4, current = $5, total = $6, current_file = $7, results = $8,
         error = $9, cancel_requested = cancel_requested or $10, cancelled_at = $11,
         updated_at = $12
       where id = $1 and owner = $2 and ${unfinished}
         and ($3 <> 'completed' or not cancel_requested)
       returning 1`,
      [
        job.jobId,
        owner,
        job.status,
        phase,
        current,
        total,
        currentFile,
        job.results,
        job.error,
        job.cancelRequested,
        job.cancelledAt,
        job.updatedAt,
      ],
    );
    return rows.length > 0;
  },

  async requestCancel(jobId, at) {
    if (!isUuid.test(jobId)) return undefined;
    const [row] = await database.query<JobRow>(
      `with before as (select ${columns} from publish_job where id = $1 for update),
       marked as (
         update publish_job set cancel_requested = true, updated_at = $2
         where id = $1 and ${unfinished} and not cancel_requested)
       select * from before`,
      [jobId, at],
    );
    return row === undefined ? undefined : jobOf(row);
  },

  async beat(owner, jobIds) {
    const rows = await database.query<{ id: string; cancel_requested: boolean }>(
      `update publish_job set owned_until = ${lease}
       where owner = $1 and id = any($2::uuid[]) and ${unfinished}
       returning id, cancel_requested`,
      [owner, jobIds],
    );
    return rows.filter((row) => row.cancel_requested).map((row) => row.id);
  },

  async endOrphans(error, at) {
    const rows = await database.query<{ id: string }>(
      `update publish_job set status = 'failed', phase = 'failed', updated_at = $3,
         error = json_build_object('code', $1::text, 'message', $2::text, 'phase', phase)
       where ${unfinished} and owned_until < clock_timestamp() returning id`,
      [error.code, error.message, at],
    );
    return rows.map((row) => row.id);
  },

  async forget(endedBefore) {
    const rows = await database.query(
      `delete from publish_job where not (${unfinished}) and updated_at <= $1 returning 1`,
      [endedBefore],
    );
    return rows.length;
  },
});

const valuesOf = (job: StoredPublishJob): unknown[] => [
  job.jobId,
  job.packageName,
  job.status,
  job.progress.phase,
  job.progress.current,
  job.progress.total,
  job.progress.currentFile,
  job.results,
  job.error,
  job.cancelRequested,
  job.cancelledAt,
  job.createdAt,
  job.updatedAt,
];

const jobOf = (row: JobRow): StoredPublishJob => ({
  jobId: row.id,
  packageName: row.package_name,
  status: row.status,
  progress: {
    current: row.current,
    total: row.total,
    currentFile: row.current_file,
    phase: row.phase,
  },
  results: row.results,
  error: row.error,
  cancelRequested: row.cancel_requested,
  cancelledAt: row.cancelled_at,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});
