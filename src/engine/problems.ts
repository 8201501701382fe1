import { catalogue } from "./problem.ts";

/** One row per refusal the service can answer with; `docs/errors.md` has a heading for each code. */
export const problems = catalogue({
  // App — the request as a whole
  componentInvalid: {
    status: 400,
    prefix: "validation",
    code: "App:900006",
    title: "Bad Request",
    detail: (f: { kind: string; count: number }) =>
      `Validation failed for component type '${f.kind}': ${f.count} ${f.count === 1 ? "mistake" : "mistakes"}, listed in 'errors' by path. Nothing was stored.`,
  },

  // Instance
  wrongDomain: {
    status: 400,
    prefix: "validation",
    code: "Instance:100001",
    title: "Bad Request",
    detail: (f: { domain: string; served: string }) =>
      `This runtime serves the domain '${f.served}', not '${f.domain}'. Send the request to the runtime of that domain, or start with MILLRACE_DOMAIN empty to serve every domain.`,
  },
  versionAlreadyPublished: {
    status: 409,
    prefix: "conflict",
    code: "Instance:100002",
    title: "Conflict",
    detail: (f: { domain: string; flow: string; key: string; version: string }) =>
      `${f.flow} '${f.key}' of domain '${f.domain}' has version ${f.version} already. Publish a new version.`,
  },
  instanceNotFound: {
    status: 404,
    prefix: "notfound",
    code: "Instance:100013",
    title: "Not Found",
    detail: (f: {
      domain: string;
      workflow: string;
      instance: string;
      version?: string | undefined;
    }) =>
      `No instance '${f.instance}'${f.version === undefined ? "" : ` with version '${f.version}'`} in workflow '${f.workflow}' of domain '${f.domain}'. Give an id or a business key that exists.`,
  },

  startFailedNoInitialState: {
    status: 404,
    prefix: "notfound",
    code: "Instance:100003",
    title: "Not Found",
    detail: (f: { workflow: string; state: string }) =>
      `Workflow '${f.workflow}' starts in the state '${f.state}', which it does not have. Publish a corrected version.`,
  },
  cancelNotConfigured: {
    status: 400,
    prefix: "validation",
    code: "Instance:100016",
    title: "Bad Request",
    detail: () => "This workflow has no 'cancel' transition. Add one to its definition.",
  },
  instanceNotFoundToChange: {
    status: 404,
    prefix: "notfound",
    code: "Instance:100017",
    title: "Not Found",
    detail: (f: { domain: string; workflow: string; instance: string }) =>
      `No instance '${f.instance}' in workflow '${f.workflow}' of domain '${f.domain}'. Give an id or a business key that exists.`,
  },
  instanceTerminal: {
    status: 400,
    prefix: "validation",
    code: "Instance:100018",
    title: "Bad Request",
    detail: (f: { instance: string; status: string }) =>
      f.status === "F"
        ? `Instance '${f.instance}' is Faulted and takes no transitions. Look at its incident, then retry it.`
        : `Instance '${f.instance}' has ended (status ${f.status}) and takes no transitions. Start a new one.`,
  },
  updateDataNotConfigured: {
    status: 400,
    prefix: "validation",
    code: "Instance:100024",
    title: "Bad Request",
    detail: () => "This workflow has no 'updateData' transition. Add one to its definition.",
  },
  keyInUse: {
    status: 409,
    prefix: "conflict",
    code: "Instance:100025",
    title: "Conflict",
    detail: (f: { workflow: string; key: string }) =>
      `The key '${f.key}' belongs to an instance of '${f.workflow}' that has not completed. Choose another key, or use that instance.`,
  },
  exitNotConfigured: {
    status: 400,
    prefix: "validation",
    code: "Instance:100026",
    title: "Bad Request",
    detail: () => "This workflow has no 'exit' transition. Add one to its definition.",
  },
  notFaulted: {
    status: 400,
    prefix: "validation",
    code: "Instance:100027",
    title: "Bad Request",
    detail: (f: { instance: string; status: string }) =>
      `Instance '${f.instance}' has the status ${f.status}; only a faulted one (F) can be retried.`,
  },
  nothingToRetry: {
    status: 400,
    prefix: "validation",
    code: "Instance:100028",
    title: "Bad Request",
    detail: (f: { instance: string }) =>
      `Instance '${f.instance}' is faulted, but it is not known which transition failed. Cancel it and start a new one.`,
  },
  instanceBusy: {
    status: 409,
    prefix: "conflict",
    code: "Instance:100031",
    title: "Conflict",
    detail: (f: { instance: string }) =>
      `Instance '${f.instance}' is Busy with another transition. Wait until it is Active, then read it and decide again.`,
  },

  noOpenIncident: {
    status: 404,
    prefix: "notfound",
    code: "Instance:100037",
    title: "Not Found",
    detail: (f: { instance: string }) => `Instance '${f.instance}' has no open incident.`,
  },
  taskNotFound: {
    status: 404,
    prefix: "notfound",
    code: "Instance:100038",
    title: "Not Found",
    detail: (f: { instance: string; taskId: string }) =>
      `Instance '${f.instance}' has run no task '${f.taskId}'. Take an id from its function 'tasks'.`,
  },
  taskIdMissing: {
    status: 400,
    prefix: "validation",
    code: "Instance:100039",
    title: "Bad Request",
    detail: () => "The function 'actions' is about one task. Give its id: 'actions?taskId=…'.",
  },
  // App — system flows
  systemFlowNotStartable: {
    status: 400,
    prefix: "notsupported",
    code: "App:900003",
    title: "Bad Request",
    detail: (f: { domain: string; workflow: string }) =>
      `'${f.workflow}' keeps definitions, which are published and not started. Use POST /api/v1/definitions/publish.`,
  },

  // Transition
  transitionNotFound: {
    status: 404,
    prefix: "notfound",
    code: "Transition:100004",
    title: "Not Found",
    detail: (f: { transition: string; workflow: string }) =>
      `Workflow '${f.workflow}' has no transition '${f.transition}'. Use a key that its definition has.`,
  },
  ruleFailed: {
    status: 400,
    prefix: "validation",
    code: "Transition:100007",
    title: "Bad Request",
    detail: (f: { transition: string; reason: string }) =>
      `The rule that chooses the schema of the transition '${f.transition}' failed: ${f.reason} Send other data, or publish a corrected version of the workflow.`,
  },
  overtaken: {
    status: 409,
    prefix: "conflict",
    code: "Transition:100009",
    title: "Conflict",
    detail: (f: { transition: string; instance: string }) =>
      `Instance '${f.instance}' was changed by another request while the transition '${f.transition}' was on its way. Read the instance and decide again.`,
  },
  triggerNotAllowed: {
    status: 403,
    prefix: "validation",
    code: "Transition:100010",
    title: "Forbidden",
    detail: (f: { transition: string; trigger: string }) =>
      `The transition '${f.transition}' is ${f.trigger}: the system fires it, callers may not.`,
  },
  transitionNotAvailable: {
    status: 400,
    prefix: "validation",
    code: "Transition:100020",
    title: "Bad Request",
    detail: (f: { transition: string; state: string }) =>
      `The transition '${f.transition}' is not available in the state '${f.state}'. Read the instance for its current state.`,
  },
  sharedNotAvailable: {
    status: 400,
    prefix: "validation",
    code: "Transition:100021",
    title: "Bad Request",
    detail: (f: { transition: string; state: string }) =>
      `The shared transition '${f.transition}' is not available in the state '${f.state}': 'availableIn' does not list it.`,
  },
  startOutsideInitialState: {
    status: 400,
    prefix: "validation",
    code: "Transition:100022",
    title: "Bad Request",
    detail: (f: { transition: string; state: string }) =>
      `'${f.transition}' starts an instance and cannot be sent to one that is in the state '${f.state}'. Start a new instance.`,
  },
  sharedMustStay: {
    status: 400,
    prefix: "validation",
    code: "Transition:100023",
    title: "Bad Request",
    detail: (f: { transition: string; state: string }) =>
      `The shared transition '${f.transition}' would leave the state '${f.state}' while its subflow is open. Let the subflow end, or cancel.`,
  },
  specialNotAvailable: {
    status: 400,
    prefix: "validation",
    code: "Transition:100024",
    title: "Bad Request",
    detail: (f: { transition: string; state: string }) =>
      `The transition '${f.transition}' is not available in the state '${f.state}': 'availableIn' does not list it.`,
  },

  // Authorization
  tokenMissing: {
    status: 401,
    prefix: "unauthorized",
    code: "Authorization:110010",
    title: "Unauthorized",
    detail: () => "This request needs a bearer token. Send it as 'Authorization: Bearer <token>'.",
  },
  tokenInvalid: {
    status: 401,
    prefix: "unauthorized",
    code: "Authorization:110011",
    title: "Unauthorized",
    detail: (f: { reason: string }) =>
      `The bearer token ${f.reason}. Send one that the issuer of this service has just made for it.`,
  },
  tokenNotChecked: {
    status: 503,
    prefix: "transient",
    code: "Authorization:110012",
    title: "Service Unavailable",
    detail: () =>
      "The bearer token could not be checked, because the keys of its issuer cannot be read at the moment. Try again.",
  },
  roleDenied: {
    status: 403,
    prefix: "forbidden",
    code: "Authorization:110001",
    title: "Forbidden",
    detail: (f: { what: string }) =>
      `The caller's roles do not allow ${f.what}. Call as somebody who has one of the allowed roles.`,
  },

  authorizeTarget: {
    status: 400,
    prefix: "validation",
    code: "Authorization:110002",
    title: "Bad Request",
    detail: (f: { given: number }) =>
      `The function 'authorize' answers for one thing; ${f.given} are asked. Give exactly one of 'transitionKey', 'functionKey', 'queryRoles=true' and 'ack=true'.`,
  },

  // Function and Extension
  functionScope: {
    status: 403,
    prefix: "forbidden",
    code: "Function:800002",
    title: "Forbidden",
    detail: (f: { key: string; scope: string; reason: string }) =>
      `The function '${f.key}' has the scope '${f.scope}' and cannot be called here: ${f.reason}`,
  },
  functionSlotEmpty: {
    status: 404,
    prefix: "notfound",
    code: "Function:800004",
    title: "Not Found",
    detail: (f: { key: string; target: string; what: string }) =>
      `The function '${f.key}' has no ${f.target} ${f.what} for this caller. Its '/info' says which it has.`,
  },
  functionTargetUnknown: {
    status: 400,
    prefix: "validation",
    code: "Function:800005",
    title: "Bad Request",
    detail: (f: { target: string }) =>
      `The target '${f.target.slice(0, 100)}' is neither 'input' nor 'output'. Use one of them, or leave it out for 'input'.`,
  },
  functionFailed: {
    status: 500,
    prefix: "failure",
    code: "Extension:600001",
    title: "Internal Server Error",
    detail: (f: { key: string; reason: string }) => `The function '${f.key}' failed: ${f.reason}`,
  },
  extensionFailed: {
    status: 400,
    prefix: "validation",
    code: "Extension:600001",
    title: "Bad Request",
    detail: (f: { key: string; reason: string }) =>
      `The extension '${f.key}' failed, and with it the read: ${f.reason}`,
  },
  nothingThere: {
    status: 404,
    prefix: "notfound",
    code: "notfound",
    title: "Not Found",
    detail: (f: { what: string }) => f.what,
  },

  // Validation — the list's query language
  filterInvalid: {
    status: 400,
    prefix: "validation",
    code: "Validation:900011",
    title: "Bad Request",
    detail: () => "The filter cannot be understood; 'errors' says where and why.",
  },
  sortInvalid: {
    status: 400,
    prefix: "validation",
    code: "Validation:900012",
    title: "Bad Request",
    detail: () => "The sort order cannot be understood; 'errors' says where and why.",
  },
  groupByInvalid: {
    status: 400,
    prefix: "validation",
    code: "Validation:900013",
    title: "Bad Request",
    detail: () => "The grouping cannot be understood; 'errors' says where and why.",
  },
  aggregationsInvalid: {
    status: 400,
    prefix: "validation",
    code: "Validation:900014",
    title: "Bad Request",
    detail: () => "The aggregations cannot be understood; 'errors' says where and why.",
  },

  // PublishJob — packages on the deployment API
  publishJobNotFound: {
    status: 404,
    prefix: "notfound",
    code: "PublishJob:700001",
    title: "Not Found",
    detail: (f: { jobId: string }) =>
      `No publish job '${f.jobId}'. It never was, or it ended a while ago and is forgotten.`,
  },
  publishJobEnded: {
    status: 409,
    prefix: "conflict",
    code: "PublishJob:700002",
    title: "Conflict",
    detail: (f: { jobId: string; status: string }) =>
      `The publish job '${f.jobId}' has ended (${f.status}) and cannot be cancelled any more.`,
  },
  packageNotUsable: {
    status: 422,
    prefix: "validation",
    code: "PublishJob:700003",
    title: "Unprocessable Content",
    detail: (f: { reason: string }) => f.reason,
  },
  publishQueueFull: {
    status: 503,
    prefix: "transient",
    code: "PublishJob:700004",
    title: "Service Unavailable",
    detail: (f: { limit: number }) =>
      `${f.limit} publish jobs wait already. Send the request again when some have ended, or raise Deploy.QueueLimit.`,
  },
  runtimeAway: {
    status: 503,
    prefix: "transient",
    code: "PublishJob:700005",
    title: "Service Unavailable",
    detail: () =>
      "The runtime does not answer the deployment service. Send the request again later, or check MILLRACE_RUNTIME_URL.",
  },

  // Cache — definitions
  componentNotFound: {
    status: 404,
    prefix: "notfound",
    code: "Cache:300001",
    title: "Not Found",
    detail: (f: { domain: string; flow: string; key: string; version?: string | undefined }) =>
      `No component '${f.key}'${f.version === undefined ? "" : ` with version '${f.version}'`} in ${f.flow} of domain '${f.domain}'. Publish it first, or correct the key or version.`,
  },

  // ModelValidation — path, query, header and form fields
  requestInvalid: {
    status: 400,
    prefix: "validation",
    code: "ModelValidation:Failed",
    title: "Bad Request",
    detail: (f: { part: string; count: number }) =>
      `The ${f.part} of the request ${f.count === 1 ? "has a mistake" : `has ${f.count} mistakes`}, listed in 'errors' by name.`,
  },

  // Http — the request before any rule of the domain looks at it
  requestMalformed: {
    status: 400,
    prefix: "validation",
    code: "Http:400001",
    title: "Bad Request",
    detail: (f: { reason: string }) =>
      `The request is not well-formed HTTP: ${f.reason}. Correct it and send it again.`,
  },
  bodyNotJson: {
    status: 400,
    prefix: "validation",
    code: "Http:400002",
    title: "Bad Request",
    detail: (f: { reason: string }) =>
      `The body is not JSON: ${f.reason}. Send one JSON value in UTF-8.`,
  },
  bodyTooDeep: {
    status: 400,
    prefix: "validation",
    code: "Http:400003",
    title: "Bad Request",
    detail: (f: { limit: number }) =>
      `The body nests objects and arrays deeper than ${f.limit} levels. Send it flatter, or raise Http.JsonDepth.`,
  },
  bodyIncomplete: {
    status: 400,
    prefix: "validation",
    code: "Http:400004",
    title: "Bad Request",
    detail: () => "The body ended before its announced length. Send the whole body.",
  },
  foreignPage: {
    status: 403,
    prefix: "forbidden",
    code: "Http:403001",
    title: "Forbidden",
    detail: (f: { origin: string }) =>
      `A page of '${f.origin}' may not call this service. Allow it with Http.CorsOrigins, or choose an Auth.Mode.`,
  },
  routeNotFound: {
    status: 404,
    prefix: "notfound",
    code: "Http:404001",
    title: "Not Found",
    detail: (f: { method: string; path: string }) =>
      `Nothing answers ${f.method} ${f.path}. The routes are listed in /openapi.json.`,
  },
  methodNotAllowed: {
    status: 405,
    prefix: "notsupported",
    code: "Http:405001",
    title: "Method Not Allowed",
    detail: (f: { method: string; path: string; allowed: string }) =>
      `${f.path} does not accept ${f.method}. Use one of: ${f.allowed}.`,
  },
  requestTimeout: {
    status: 408,
    prefix: "transient",
    code: "Http:408001",
    title: "Request Timeout",
    detail: (f: { seconds: number }) =>
      `The request was not received completely within ${f.seconds} s. Send it again on a new connection.`,
  },
  bodyTooLarge: {
    status: 413,
    prefix: "validation",
    code: "Http:413001",
    title: "Payload Too Large",
    detail: (f: { limit: number }) =>
      `The body is larger than ${f.limit} bytes. Send less, or raise Http.BodyLimitBytes.`,
  },
  contentTypeNotSupported: {
    status: 415,
    prefix: "notsupported",
    code: "Http:415001",
    title: "Unsupported Media Type",
    detail: (f: { given: string; supported: string }) =>
      `A body with ${f.given} is not accepted here. Send ${f.supported}.`,
  },
  headersTooLarge: {
    status: 431,
    prefix: "validation",
    code: "Http:431001",
    title: "Request Header Fields Too Large",
    detail: (f: { bytes: number; count: number }) =>
      `The request headers exceed ${f.bytes} bytes or ${f.count} fields. Send fewer or shorter headers, or raise Http.HeaderBytes and Http.HeaderCount.`,
  },
  internalError: {
    status: 500,
    prefix: "failure",
    code: "Http:500001",
    title: "Internal Server Error",
    detail: () => "The service failed to answer. The log has the cause under this trace id.",
  },
  storageUnavailable: {
    status: 503,
    prefix: "transient",
    code: "Http:503001",
    title: "Service Unavailable",
    detail: () => "The database does not answer at the moment. Send the request again later.",
  },
  listTooSlow: {
    status: 503,
    prefix: "transient",
    code: "Http:503003",
    title: "Service Unavailable",
    detail: () =>
      "The list took too long and was given up. Narrow the filter: by key, status, state or creation time, or by a data field with 'eq' or 'in'; or raise Database.StatementTimeoutMs.",
  },
  tooManyReaders: {
    status: 503,
    prefix: "transient",
    code: "Http:503004",
    title: "Service Unavailable",
    detail: (f: { limit: number }) =>
      `${f.limit} requests wait on this node for instances to change already. Send the request again later or without 'wait', or raise Live.MaxWaiters.`,
  },
  shuttingDown: {
    status: 503,
    prefix: "transient",
    code: "Http:503002",
    title: "Service Unavailable",
    detail: () =>
      "This node is stopping and takes no new requests. Send the request again; another node, or this one after its restart, answers it.",
  },
});
