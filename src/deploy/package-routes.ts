/** Publish, plan, status and cancel of packages. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { Readable } from "node:stream";
import { problems } from "../engine/problems.ts";
import type { HttpServer } from "../http/create-server.ts";
import { Type } from "../http/schema.ts";
import { identityOf } from "./caller-identity.ts";
import type { DeployService } from "./deploy-service.ts";
import { eventsOf } from "./job-events.ts";
import type { PublishJob } from "./publish-job.ts";
import { readPublishRequest, type PublishBody } from "./publish-request.ts";

export interface PackageDefaults {
  registry: string;
  /** The core runtime package's name. */
  runtimePackage: string;
}

const orNull = { text: ["string", "null"], flag: ["boolean", "null"] } as const;
const text = (description: string) =>
  Type.Optional(Type.Unknown({ type: orNull.text, description }));
const flag = (description: string) =>
  Type.Optional(Type.Unknown({ type: orNull.flag, default: false, description }));

const shared = {
  version: text("exact version, range or tag; default latest"),
  npmRegistry: text("address of the registry; default Deploy.Registry"),
  npmToken: text("token of the registry; wins over user and password"),
  npmUsername: text("user of a hosted feed"),
  npmPassword: text("password of a hosted feed, as it is"),
  npmEmail: text("accepted for hosted feeds; not sent"),
  reInitialize: flag("let the runtime read all definitions anew at the end"),
};

const PackageRequest = Type.Object(
  {
    packageName: Type.String({ description: "name of the package in the registry" }),
    ...shared,
    replaceDomain: flag("move every component to appDomain"),
    appDomain: text("the domain to move to, with replaceDomain"),
  },
  { $id: "PackageRequest", additionalProperties: true },
);

const RuntimePackageRequest = Type.Object(
  { ...shared, appDomain: Type.String({ description: "the domain everything moves to" }) },
  { $id: "RuntimePackageRequest", additionalProperties: true },
);

const moment = Type.String({ format: "date-time" });
const paths = Type.Array(Type.String());

const JobOutput = Type.Object(
  {
    jobId: Type.String(),
    packageName: Type.String(),
    status: Type.Enum(["accepted", "processing", "completed", "failed", "cancelled"]),
    progress: Type.Object({
      current: Type.Integer({ description: "files that are done with" }),
      total: Type.Integer(),
      currentFile: Type.String(),
      phase: Type.Enum([
        "waiting-for-vnext",
        "downloading",
        "uploading",
        "re-initializing",
        "done",
        "cancelled",
        "failed",
      ]),
    }),
    results: Type.Union([
      Type.Null(),
      Type.Object({
        success: Type.Boolean({ description: "no file failed" }),
        message: Type.String(),
        packageName: Type.String(),
        appDomain: Type.Union([Type.String(), Type.Null()]),
        successful: paths,
        failed: Type.Array(
          Type.Object({
            path: Type.String(),
            reason: Type.Object({
              code: Type.String({ description: "of the runtime's problem" }),
              message: Type.String(),
              component: Type.Optional(
                Type.String({ description: "which one of a file that holds several" }),
              ),
              errors: Type.Optional(
                Type.Array(Type.Object({ path: Type.String(), message: Type.String() })),
              ),
            }),
          }),
        ),
        skipped: Type.Array(Type.Object({ path: Type.String(), reason: Type.String() })),
      }),
    ]),
    error: Type.Union([
      Type.Null(),
      Type.Object({ code: Type.String(), message: Type.String(), phase: Type.String() }),
    ]),
    cancelRequested: Type.Boolean(),
    cancelledAt: Type.Union([moment, Type.Null()]),
    createdAt: moment,
    updatedAt: moment,
  },
  { $id: "PublishJob" },
);

const Accepted = Type.Object({
  jobId: Type.String(),
  statusUrl: Type.String(),
  message: Type.String(),
});

const Cancelling = Type.Object({
  jobId: Type.String(),
  status: Type.String(),
  cancelRequested: Type.Boolean(),
  message: Type.String(),
});

const JobParams = Type.Object({ jobId: Type.String() });
const tags = ["packages"];
const statusPath = "/api/package/publish/status";

/** `service` throws `StorageUnavailable` until the service has started. */
export function addPackageRoutes(
  app: HttpServer,
  service: () => DeployService,
  defaults: PackageDefaults,
): void {
  for (const schema of [PackageRequest, RuntimePackageRequest, JobOutput]) app.addSchema(schema);

  const accept = async (body: PublishBody, kind: "standard" | "runtime", reply: FastifyReply) => {
    const request = readPublishRequest(body, kind, defaults);
    const identity = identityOf(reply.request);
    const { jobId, packageName } = await service().submit({ ...request, identity });
    const statusUrl = `${statusPath}/${jobId}`;
    const idle = body.replaceDomain === true && request.domain === undefined;
    const message = `Publishing ${packageName} is queued. Poll statusUrl until the status is completed, failed or cancelled.${idle ? " No domain is replaced: replaceDomain needs appDomain." : ""}`;
    return reply.status(202).header("location", statusUrl).send({ jobId, statusUrl, message });
  };

  app.post(
    "/api/package/publish",
    {
      schema: {
        summary: "Publish a package",
        tags,
        body: Type.Ref("PackageRequest"),
        response: { 202: Accepted },
      },
    },
    (request, reply) => accept(request.body as PublishBody, "standard", reply),
  );

  app.post(
    "/api/package/runtime/publish",
    {
      schema: {
        summary: "Publish the core runtime package into a domain",
        tags,
        body: Type.Ref("RuntimePackageRequest"),
        response: { 202: Accepted },
      },
    },
    (request, reply) => {
      const body = request.body as PublishBody;
      return accept({ ...body, packageName: defaults.runtimePackage }, "runtime", reply);
    },
  );

  app.post(
    "/api/package/plan",
    {
      schema: {
        summary: "What publishing a package would do; nothing is published",
        tags,
        body: Type.Ref("PackageRequest"),
      },
    },
    (request, reply) => {
      const asked = readPublishRequest(request.body as PublishBody, "standard", defaults);
      return service().plan({ ...asked, identity: identityOf(request) }, goneSignal(reply));
    },
  );

  app.get(
    `${statusPath}/:jobId`,
    {
      schema: {
        summary: "How far a publish is",
        tags,
        params: JobParams,
        response: { 200: Type.Ref("PublishJob") },
      },
    },
    async (request, reply) => {
      const job = await jobOrRefusal(service(), request.params.jobId);
      return reply.header("cache-control", "no-store").send(job);
    },
  );

  addEvents(app, service);

  app.post(
    "/api/package/publish/cancel/:jobId",
    {
      onRequest: withoutEmptyBody,
      schema: {
        summary: "Ask a publish to stop; what is published stays",
        tags,
        params: JobParams,
        response: { 202: Cancelling },
      },
    },
    async (request, reply) => {
      const { jobId } = request.params;
      const cancelled = await service().cancel(jobId);
      if (cancelled === undefined)
        throw problems.publishJobNotFound({ jobId: jobId.slice(0, 100) });
      const { job, outcome } = cancelled;
      if (outcome === "tooLate") {
        throw problems.publishJobEnded({ jobId: job.jobId, status: job.status });
      }
      const message =
        outcome === "requested"
          ? "The job stops before its next file."
          : "The job has been asked to stop before.";
      const { status } = job;
      return reply.status(202).send({ jobId: job.jobId, status, cancelRequested: true, message });
    },
  );
}

function addEvents(app: HttpServer, service: () => DeployService): void {
  // A stream lasts as long as its job; a server that closes must not wait for that.
  const closing = new AbortController();
  app.addHook("preClose", (done) => {
    closing.abort();
    done();
  });
  app.get(
    `${statusPath}/:jobId/events`,
    {
      schema: {
        summary: "A publish as it goes on, as server-sent events",
        tags,
        params: JobParams,
        produces: ["text/event-stream"],
      },
    },
    async (request, reply) => {
      const { jobId } = await jobOrRefusal(service(), request.params.jobId);
      const signal = AbortSignal.any([closing.signal, goneSignal(reply)]);
      return reply
        .header("content-type", "text/event-stream; charset=utf-8")
        .header("cache-control", "no-store")
        .header("x-accel-buffering", "no")
        .send(Readable.from(eventsOf(service().follow(jobId, signal), signal)));
    },
  );
}

/** `curl -d ''` announces a form of no bytes. */
function withoutEmptyBody({ headers }: FastifyRequest, _reply: FastifyReply, done: () => void) {
  if (headers["content-length"] === "0") delete headers["content-type"];
  done();
}

async function jobOrRefusal(service: DeployService, jobId: string): Promise<PublishJob> {
  const job = await service.find(jobId);
  if (job === undefined) throw problems.publishJobNotFound({ jobId: jobId.slice(0, 100) });
  return job;
}

/** Aborted when the answer is complete, or its caller has gone. */
function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once("close", () => gone.abort());
  return gone.signal;
}
