/** Every setting there is: its form, its default, and what it is for. `config.ts` reads them. */
import { isIP } from "node:net";

type Kind = "text" | "integer" | "boolean" | "list" | "choice";

export interface Setting<T> {
  kind: Kind;
  default: T;
  about: string;
  env?: string;
  /**
   * Shown as `***` by `millrace doctor`; a connection string only loses its password, and of web
   * addresses in a list only the host is shown.
   */
  secret?: "whole" | "url" | "webAddresses";
  min?: number;
  max?: number;
  choices?: readonly string[];
  /** Of text, or of each item of a list. */
  form?: Form;
}

interface Form {
  fits: (text: string) => boolean;
  allowed: string;
}

const textSetting = (s: Omit<Setting<string>, "kind">): Setting<string> => ({ kind: "text", ...s });
const integer = (s: Omit<Setting<number>, "kind">): Setting<number> => ({
  kind: "integer",
  ...s,
});
const boolean = (s: Omit<Setting<boolean>, "kind">): Setting<boolean> => ({
  kind: "boolean",
  ...s,
});
const list = (s: Omit<Setting<string[]>, "kind">): Setting<string[]> => ({
  kind: "list",
  ...s,
});
const choiceSetting = <const C extends string>(
  choices: readonly C[],
  s: Omit<Setting<C>, "kind" | "choices">,
): Setting<C> => ({ kind: "choice", choices, ...s });

const port = { min: 0, max: 65_535 };

const connectionString: Form = {
  // The driver takes `postgres://user@/db?host=/folder` for a socket; an address needs a host.
  fits: (text) =>
    text === "" ||
    (/^postgres(ql)?:\/\//i.test(text) && URL.canParse(text.replace("@/", "@socket/"))),
  allowed: "postgres://user:password@host:5432/database, special characters percent-encoded",
};

const notEmpty: Form = { fits: (text) => text !== "", allowed: "anything but empty" };

const peer: Form = {
  fits: (text) => {
    if (/^(loopback|private)$/i.test(text)) return true;
    const [, address = "", bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
    const family = isIP(address);
    return family !== 0 && Number(bits ?? 0) <= (family === 4 ? 32 : 128);
  },
  allowed: "loopback, private, addresses and CIDR ranges such as 10.1.0.0/16",
};

const sidecarAddress: Form = {
  fits: (text) => text === "" || (URL.canParse(text) && isBareAddress(new URL(text))),
  allowed: "an http or https address without user, query and fragment",
};

const domainAddress: Form = {
  fits: (text) => {
    const [, address = ""] = /^[^=\s]+\s*=\s*(\S+)$/.exec(text) ?? [];
    return URL.canParse(address) && isBareAddress(new URL(address));
  },
  allowed: "entries such as payments=https://payments.example:4201",
};

const isBareAddress = ({ protocol, username, password, search, hash }: URL): boolean =>
  /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === "";

const registryAddress: Form = {
  fits: (text) => URL.canParse(text) && isBareAddress(new URL(text)),
  allowed: "an http or https address without user, query and fragment",
};

const mailServer: Form = {
  fits: (text) =>
    text === "" ||
    (/^smtps?:\/\/[^/]+\/?$/i.test(text) && URL.canParse(text) && !/%(?![0-9a-f]{2})/i.test(text)),
  allowed: "smtp://user:password@host:587 or smtps://…, special characters percent-encoded",
};

const reachable: Form = {
  // A name whose last part is a number would be read as an address.
  fits: (text) =>
    peer.fits(text) ||
    (/^(\*\.)?([a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}$/i.test(text) &&
      !/(^|\.)(\d+|0x[0-9a-f]*)$/i.test(text)),
  allowed:
    "loopback, private, addresses, CIDR ranges such as 10.1.0.0/16, and host names such as api.internal or *.internal",
};

const stateStore: Form = {
  fits: (text) => {
    const [, place = ""] = /^[\w.-]+=(.+)$/.exec(text) ?? [];
    if (/^(postgres|memory|dapr:[^\s/]+)$/.test(place)) return true;
    const isRedis = /^rediss?:\/\/[^\s/]/.test(place) && URL.canParse(place);
    return isRedis && /^\/?\d*$/.test(new URL(place).pathname);
  },
  allowed:
    "name=postgres, name=memory, name=redis://:password@host:6379/0 (special characters percent-encoded), name=rediss://…, name=dapr:component",
};

const keySetAddress: Form = {
  fits: (text) => {
    if (text === "") return true;
    if (!URL.canParse(text)) return false;
    const { protocol, username, password } = new URL(text);
    return /^https?:$/.test(protocol) && username === "" && password === "";
  },
  allowed: "an http or https address without user and password",
};

const signature: Form = {
  fits: (text) => /^((RS|PS|ES)(256|384|512)|EdDSA|Ed25519)$/.test(text),
  allowed: "RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, Ed25519",
};

export const settings = {
  "Database.Url": textSetting({
    default: "",
    env: "DATABASE_URL",
    secret: "url",
    form: connectionString,
    about:
      "connection string of PostgreSQL 15 or newer; empty = embedded server in the data folder",
  }),
  "Database.PoolSize": integer({
    default: 16,
    min: 2,
    max: 500,
    about:
      "connections for this node's statements; one that listens and one for the heartbeat come on top",
  }),
  "Database.StatementTimeoutMs": integer({
    default: 10_000,
    min: 100,
    about: "longest time one SQL statement may take",
  }),
  "Server.Host": textSetting({
    default: "",
    env: "MILLRACE_HOST",
    about: "address to listen on; empty = loopback, IPv4 and IPv6",
  }),
  "Server.Port": integer({
    default: 4201,
    ...port,
    env: "MILLRACE_PORT",
    about: "port of the runtime API; 0 = any free port",
  }),
  "Server.InitPort": integer({
    default: 3005,
    ...port,
    env: "MILLRACE_INIT_PORT",
    about: "port of the deployment API; 0 = any free port",
  }),
  "Server.ShutdownSeconds": integer({
    default: 20,
    min: 0,
    max: 600,
    about: "how long requests and jobs in progress may take to end after SIGTERM",
  }),
  "Runtime.Domain": textSetting({
    default: "",
    env: "MILLRACE_DOMAIN",
    about: "the one domain this runtime serves; empty = every domain that is published",
  }),
  "Runtime.Url": textSetting({
    default: "",
    env: "MILLRACE_RUNTIME_URL",
    about: "base address of the runtime for a deployment service that runs apart",
  }),
  "Runtime.DataDir": textSetting({
    default: ".millrace",
    env: "MILLRACE_DATA_DIR",
    form: notEmpty,
    about: "folder for everything this node keeps on disk",
  }),
  "Runtime.Samples": choiceSetting(["auto", "on", "off"], {
    default: "auto",
    env: "MILLRACE_SAMPLES",
    about:
      "publish the sample domain at start, and run the partners it calls; auto = only on the embedded server",
  }),
  "Authorization.EnforceTransitionRoles": boolean({
    default: true,
    about: "refuse a transition whose roles the caller lacks; false = a gateway does it",
  }),
  "Auth.Mode": choiceSetting(["auto", "headers", "jwt", "none"], {
    default: "auto",
    about:
      "how callers are known: headers of a gateway, bearer tokens, or not at all; auto = headers, on loopback only",
  }),
  "Auth.AllowAnonymous": boolean({
    default: false,
    about: "jwt: let requests without a token in as nobody; none: allow it beyond loopback",
  }),
  "Auth.Jwt.JwksUrl": textSetting({
    default: "",
    form: keySetAddress,
    about: "address of the key set (JWKS) that tokens are signed with",
  }),
  "Auth.Jwt.JwksFile": textSetting({
    default: "",
    about: "file with the key set, instead of an address; read anew when keys change",
  }),
  "Auth.Jwt.Issuer": textSetting({
    default: "",
    about: "the one issuer (iss) whose tokens are accepted",
  }),
  "Auth.Jwt.Audience": list({
    default: [],
    about: "audiences (aud) of which a token must have one",
  }),
  "Auth.Jwt.Algorithms": list({
    default: ["RS256", "PS256", "ES256", "EdDSA"],
    form: signature,
    about: "signatures that are accepted; public-key ones only",
  }),
  "Auth.Jwt.RolesClaim": list({
    default: ["role", "roles"],
    about: "claims that hold roles, as names or paths such as realm_access.roles",
  }),
  "Auth.Jwt.ClockToleranceSeconds": integer({
    default: 30,
    min: 0,
    max: 300,
    about: "how far the clocks of issuer and service may differ",
  }),
  "Auth.Jwt.PeersWithoutToken": list({
    default: [],
    form: peer,
    about: "peers that need no token and whose identity headers are believed: other runtimes, say",
  }),
  "Auth.Jwt.MaxTokenBytes": integer({
    default: 16_384,
    min: 1024,
    max: 65_536,
    about: "longest token that is looked at",
  }),
  "Authorization.EnforceQueryRoles": boolean({
    default: true,
    about: "refuse reads that 'queryRoles' do not allow; false = a gateway does it",
  }),
  "Authorization.EnforceFunctionRoles": boolean({
    default: true,
    about: "refuse a function whose roles the caller lacks; false = a gateway does it",
  }),
  "Authorization.PublishRoles": list({
    default: [],
    about:
      "roles of which a caller needs one to publish definitions and packages; empty = nobody needs any",
  }),
  "Instances.StartOnExistingKey": choiceSetting(["conflict", "returnExisting"], {
    default: "conflict",
    about:
      "a start whose key is in use: 409, or the existing instance as the public system answers",
  }),
  "Publish.RequireFlowVersion": boolean({
    default: true,
    about: "refuse a component without flowVersion; false = it defaults to version",
  }),
  "Http.BodyLimitBytes": integer({
    default: 2 * 1024 * 1024,
    min: 1024,
    about: "largest request body",
  }),
  "Http.JsonDepth": integer({ default: 64, min: 8, max: 512, about: "deepest JSON nesting" }),
  "Http.HeaderBytes": integer({
    default: 65_536,
    min: 8192,
    about: "largest total size of request headers",
  }),
  "Http.HeaderCount": integer({ default: 200, min: 20, about: "most request header fields" }),
  "Http.RequestTimeoutSeconds": integer({
    default: 30,
    min: 1,
    about: "how long a client may take to send its request",
  }),
  "Http.ErrorTypeBase": textSetting({
    default: "https://httpstatuses.com",
    about: "start of the 'type' address of problem responses",
  }),
  "Http.CorsOrigins": list({
    default: [],
    about: "origins that may call from a browser; * = any",
  }),
  "Http.TrustedPeers": list({
    default: ["loopback", "private"],
    form: peer,
    about: "peers whose identity headers are believed: addresses, CIDR ranges, loopback, private",
  }),
  "Live.MaxWaiters": integer({
    default: 10_000,
    min: 0,
    about: "most requests of this node that are held open until an instance changes",
  }),
  "Live.PollSeconds": integer({
    default: 5,
    min: 1,
    max: 300,
    about: "how often held requests are compared with the database, should a notification be lost",
  }),
  "Live.HeartbeatSeconds": integer({
    default: 15,
    min: 1,
    max: 300,
    about: "how often an event stream says that it is still there",
  }),
  "Live.StreamMinutes": integer({
    default: 60,
    min: 1,
    max: 1440,
    about: "longest life of one event stream; then its client connects, and is checked, again",
  }),
  "Log.Level": choiceSetting(["fatal", "error", "warn", "info", "debug", "trace", "silent"], {
    default: "info",
    env: "MILLRACE_LOG_LEVEL",
    about: "least level that is written",
  }),
  "Log.Format": choiceSetting(["auto", "json", "pretty"], {
    default: "auto",
    about: "auto = readable on a terminal, JSON elsewhere",
  }),
  "Scripting.TimeoutMs": integer({
    default: 1000,
    min: 10,
    max: 60_000,
    about: "how long one call of a script may take",
  }),
  "Scripting.MemoryMb": integer({
    default: 32,
    min: 4,
    max: 512,
    about: "how much memory one call of a script may use",
  }),
  "Scripting.Environment": list({
    default: [],
    about: "environment variables that scripts may read with GetConfigValue",
  }),
  "Scripting.Secrets": list({
    default: [],
    about: "secrets that scripts may read, as store/secret/key=ENVIRONMENT_VARIABLE",
  }),
  "WorkflowExecution.TransitionJobTimeoutSeconds": integer({
    default: 300,
    min: 1,
    about: "budget of one transition job",
  }),
  "WorkflowExecution.TransitionJobLockLeaseSeconds": integer({
    default: 330,
    min: 1,
    about: "lease of a transition job; longer than the budget",
  }),
  "TaskExecution.UnhandledFailure": choiceSetting(["fault", "continue"], {
    default: "fault",
    about:
      "a task with an error status and no error boundary: the instance faults, or goes on as in the public system",
  }),
  "ExecutionApi.InvocationTimeoutSeconds": integer({
    default: 60,
    min: 1,
    about: "ceiling of one remote invocation",
  }),
  "Deploy.Registry": textSetting({
    default: "https://registry.npmjs.org/",
    form: registryAddress,
    about: "npm registry that packages come from unless the request names another",
  }),
  "Deploy.RuntimePackage": textSetting({
    default: "@burgan-tech/vnext-core-runtime",
    form: notEmpty,
    about: "the package that runtime/publish publishes",
  }),
  "Deploy.AllowSha1": boolean({
    default: false,
    about: "accept archives whose registry announces only a SHA-1 hash",
  }),
  "Deploy.DownloadTimeoutSeconds": integer({
    default: 60,
    min: 1,
    max: 3600,
    about: "how long the package's data, and its archive, may each take to arrive",
  }),
  "Deploy.ArchiveLimitBytes": integer({
    default: 50 * 1024 * 1024,
    min: 1024,
    about: "largest archive of a package, and largest answer of a registry",
  }),
  "Deploy.UnpackedLimitBytes": integer({
    default: 100 * 1024 * 1024,
    min: 1024,
    about: "largest size of a package's files together",
  }),
  "Deploy.MaxFiles": integer({
    default: 10_000,
    min: 1,
    about: "most files and folders in a package",
  }),
  "Deploy.Concurrency": integer({
    default: 4,
    min: 1,
    max: 64,
    about: "files of a package that are published side by side",
  }),
  "Deploy.RuntimeWaitSeconds": integer({
    default: 120,
    min: 0,
    max: 3600,
    about: "how long a publish job waits for the runtime to become healthy",
  }),
  "Deploy.QueueLimit": integer({
    default: 100,
    min: 1,
    about: "publish jobs that may wait on this node",
  }),
  "Deploy.RetentionMinutes": integer({
    default: 30,
    min: 1,
    about: "how long a publish job that has ended can be asked for",
  }),
  "Deploy.SweepMinutes": integer({
    default: 5,
    min: 1,
    max: 1440,
    about: "how often publish jobs are looked through for those to forget",
  }),
  "Egress.Allow": list({
    default: [],
    form: reachable,
    about:
      "what calls may reach beside the public internet: loopback, private, addresses, CIDR ranges, host names (*.internal); empty on the embedded server = loopback",
  }),
  "Egress.AnswerLimitBytes": integer({
    default: 5 * 1024 * 1024,
    min: 1024,
    about: "largest answer to an outgoing call, after decompression",
  }),
  "Notification.Channels": list({
    default: [],
    secret: "webAddresses",
    about:
      "senders of notification channels: channel=smtp, =webhook:https://address, =dapr, =dapr:binding or =log; * = all other channels",
  }),
  "Notification.Smtp.Url": textSetting({
    default: "",
    secret: "url",
    form: mailServer,
    about: "mail server: smtp://user:password@host:587, or smtps:// for TLS from the start",
  }),
  "Notification.Smtp.From": textSetting({
    default: "",
    about: "sender of mails: orders@example.com, or Orders <orders@example.com>",
  }),
  "Notification.Smtp.Tls": choiceSetting(["required", "whenOffered", "off"], {
    default: "required",
    about: "whether an smtp:// server has to offer TLS",
  }),
  "Notification.WebhookSecret": textSetting({
    default: "",
    secret: "whole",
    about: "key that webhooks are signed with, as Standard Webhooks describe; empty = unsigned",
  }),
  "StateStore.Name": textSetting({
    default: "statestore",
    form: notEmpty,
    about: "the state store of tasks that name none; one of StateStore.Stores",
  }),
  "StateStore.Stores": list({
    default: ["statestore=postgres"],
    secret: "url",
    form: stateStore,
    about:
      "state stores: name=postgres (this database), name=memory (this process, lost at its end), name=redis://:password@host:6379/0, name=rediss://…, name=dapr:component",
  }),
  "Dapr.HttpEndpoint": textSetting({
    default: "",
    env: "DAPR_HTTP_ENDPOINT",
    secret: "url",
    form: sidecarAddress,
    about: "address of the Dapr sidecar's HTTP API, as http://127.0.0.1:3500; empty = no sidecar",
  }),
  "Dapr.ApiToken": textSetting({
    default: "",
    env: "DAPR_API_TOKEN",
    secret: "whole",
    about: "token that the Dapr sidecar asks for; empty = none",
  }),
  "Domains.Addresses": list({
    default: [],
    form: domainAddress,
    about: "runtimes of other domains that tasks reach, as domain=https://host:4201",
  }),
} as const;

export type SettingName = keyof typeof settings;
type ValueOf<S> = S extends Setting<infer T> ? T : never;
export type Config = { readonly [K in SettingName]: ValueOf<(typeof settings)[K]> };
