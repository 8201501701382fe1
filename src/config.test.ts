import { describe, expect, test } from "vitest";
import {
  loadConfig,
  maskUrl,
  secretValues,
  settings,
  shownValue,
  type SettingName,
} from "./config.ts";
import { StartRefusal } from "./engine/start-refusal.ts";

interface Given {
  file?: unknown;
  env?: Record<string, string>;
  flags?: Record<string, unknown>;
}

const load = ({ file, env = {}, flags = {} }: Given = {}) =>
  loadConfig({
    env,
    flags,
    read: () => {
      if (file === undefined) throw Object.assign(new Error("no file"), { code: "ENOENT" });
      return typeof file === "string" ? file : JSON.stringify(file);
    },
  });

const unreadable = (): never => {
  throw new Error("gone");
};

const valueOf = (name: SettingName, given: Given) => {
  const { config, sources } = load(given);
  return { value: config[name], source: sources[name] };
};

test("without file, environment and flags every setting has its default", () => {
  const { config, sources } = load();

  for (const [name, { default: value }] of Object.entries(settings)) {
    expect(config[name as SettingName]).toEqual(value);
    expect(sources[name as SettingName]).toBe("default");
  }
});

test("every default is a value that the setting allows", () => {
  const flags = Object.fromEntries(
    Object.entries(settings).map(([name, { default: value }]) => [name, value]),
  );

  expect(load({ flags }).config).toEqual(load().config);
});

test.each<{ given: Given; value: number; source: string }>([
  { given: {}, value: 4201, source: "default" },
  { given: { file: { "Server.Port": 1 } }, value: 1, source: "file" },
  {
    given: { file: { "Server.Port": 1 }, env: { MILLRACE_PORT: "2" } },
    value: 2,
    source: "environment",
  },
  {
    given: {
      file: { "Server.Port": 1 },
      env: { MILLRACE_PORT: "2" },
      flags: { "Server.Port": "3" },
    },
    value: 3,
    source: "flag",
  },
  {
    given: { file: { "Server.Port": 1 }, flags: { "Server.Port": undefined } },
    value: 1,
    source: "file",
  },
])("the port is $value from the $source", ({ given, value, source }) => {
  expect(valueOf("Server.Port", given)).toEqual({ value, source });
});

describe("a key may be written", () => {
  const name = "WorkflowExecution.TransitionJobTimeoutSeconds";

  test.each<[string, Given]>([
    ["dotted in the file", { file: { [name]: 7 } }],
    ["nested in the file", { file: { WorkflowExecution: { TransitionJobTimeoutSeconds: 7 } } }],
    [
      "in any case in the file",
      { file: { workflowexecution: { transitionJOBTimeoutSeconds: 7 } } },
    ],
    ["as text in the file", { file: { [name]: "7" } }],
    [
      "with two underscores in the environment",
      { env: { WorkflowExecution__TransitionJobTimeoutSeconds: "7" } },
    ],
    [
      "in capitals in the environment",
      { env: { WORKFLOWEXECUTION__TRANSITIONJOBTIMEOUTSECONDS: "7" } },
    ],
    ["with spaces around the value", { env: { [name.replace(".", "__")]: " 7 " } }],
  ])("%s", (_how, given) => {
    expect(valueOf(name, given).value).toBe(7);
  });

  test.each<[string, SettingName, string]>([
    ["DATABASE_URL", "Database.Url", "postgres://me@db/mill"],
    ["MILLRACE_HOST", "Server.Host", "0.0.0.0"],
    ["MILLRACE_PORT", "Server.Port", "1"],
    ["MILLRACE_INIT_PORT", "Server.InitPort", "2"],
    ["MILLRACE_DATA_DIR", "Runtime.DataDir", "somewhere"],
    ["MILLRACE_DOMAIN", "Runtime.Domain", "core"],
    ["MILLRACE_RUNTIME_URL", "Runtime.Url", "http://runtime:4201"],
    ["MILLRACE_SAMPLES", "Runtime.Samples", "off"],
    ["MILLRACE_LOG_LEVEL", "Log.Level", "debug"],
    ["millrace_port", "Server.Port", "3"],
  ])("by its short name %s", (variable, setting, text) => {
    const { value, source } = valueOf(setting, { env: { [variable]: text } });

    expect(String(value)).toBe(text);
    expect(source).toBe("environment");
  });
});

test("an editor's $schema in the file is no setting", () => {
  expect(() => load({ file: { $schema: "./config.schema.json" } })).not.toThrow();
});

test("variables of other programs are none of ours", () => {
  const env = {
    PATH: "/bin",
    NODE_ENV: "test",
    HTTP_PROXY: "x",
    npm_config__x: "y",
    Other__Key: "1",
  };

  expect(load({ env }).config).toEqual(load().config);
});

test.each<[string, Given, RegExp]>([
  [
    "a misspelt key in the file",
    { file: { Server: { Prot: 1 } } },
    /^Unknown configuration key 'Server\.Prot' in the file 'millrace\.config\.json'\. Did you mean Server\.Port\? Known keys: Database\.Url, /,
  ],
  [
    "a key that resembles nothing",
    { file: { Banana: 1 } },
    /^Unknown configuration key 'Banana' in the file 'millrace\.config\.json'\. Known keys/,
  ],
  [
    "a misspelt short name",
    { env: { MILLRACE_DATADIR: "x" } },
    /'MILLRACE_DATADIR' in the environment\. Did you mean MILLRACE_DATA_DIR\?/,
  ],
  [
    "a misspelt name of one of our sections",
    { env: { Log__Levle: "info" } },
    /'Log__Levle' in the environment\. Did you mean Log\.Level\?/,
  ],
  ["a key that belongs to every object", { file: '{"__proto__": {"x": 1}}' }, /key '__proto__\.x'/],
  ["a section with a value", { file: { Server: 5 } }, /key 'Server'/],
  ["a file that is not JSON", { file: "{" }, /'millrace\.config\.json' is not JSON: /],
  ["a file with a list", { file: [] }, /must hold one JSON object/],
  [
    "a number that is none",
    { env: { MILLRACE_PORT: "80a" } },
    /^Server\.Port in the environment variable MILLRACE_PORT is '80a'; allowed: a whole number 0 to 65535\.$/,
  ],
  [
    "a number over its range",
    { flags: { "Server.Port": "65536" } },
    /'65536'; allowed: .* 0 to 65535/,
  ],
  [
    "a number under its range",
    { file: { Database: { PoolSize: 1 } } },
    /'1'; allowed: .* 2 to 500/,
  ],
  [
    "a number under an open range",
    { file: { Http: { HeaderCount: 1 } } },
    /allowed: .* from 20 up/,
  ],
  ["half a number", { file: { "Server.Port": 1.5 } }, /'1\.5'; allowed: a whole number/],
  ["nothing for a number", { env: { MILLRACE_PORT: "" } }, /is ''; allowed: a whole number/],
  ["null", { file: { "Server.Port": null } }, /is 'null'; allowed: a whole number/],
  [
    "a word that is no choice",
    { env: { MILLRACE_SAMPLES: "maybe" } },
    /'maybe'; allowed: auto, on, off\.$/,
  ],
  [
    "neither true nor false",
    { env: { Publish__RequireFlowVersion: "ja" } },
    /allowed: true or false/,
  ],
  ["a number for text", { file: { Server: { Host: 5 } } }, /Server\.Host .* is '5'; allowed: text/],
  [
    "a list of numbers",
    { file: { Http: { CorsOrigins: [1] } } },
    /allowed: a comma-separated list/,
  ],
  ["an empty data folder", { env: { MILLRACE_DATA_DIR: " " } }, /allowed: anything but empty/],
  [
    "a peer that is no address",
    { env: { Http__TrustedPeers: "loopback, 10.0.0.0/" } },
    /'loopback, 10\.0\.0\.0\/'; allowed: loopback, private, addresses and CIDR ranges/,
  ],
  ["a range that is too wide", { env: { Http__TrustedPeers: "10.0.0.0/33" } }, /10\.0\.0\.0\/33/],
  [
    "an address with a scheme, where a name is meant",
    { env: { Egress__Allow: "http://api.internal" } },
    /Egress\.Allow in .*http:\/\/api\.internal.*\*\.internal/,
  ],
  ["a star in the middle of a name", { env: { Egress__Allow: "api.*.internal" } }, /Egress\.Allow/],
  ["an address in another spelling", { env: { Egress__Allow: "2130706433" } }, /Egress\.Allow/],
])("%s is refused by its name", (_what, given, message) => {
  expect(() => load(given)).toThrow(StartRefusal);
  expect(() => load(given)).toThrow(message);
});

test("a file named with --config must be there", () => {
  const inputs = { env: {}, file: "my.json", read: unreadable };

  expect(() => loadConfig(inputs)).toThrow(
    /^The configuration file 'my\.json' cannot be read \(gone\)\..*--config/,
  );
});

test.each<[SettingName, string, unknown]>([
  [
    "Http.CorsOrigins",
    "https://a.example, https://b.example",
    ["https://a.example", "https://b.example"],
  ],
  ["Http.CorsOrigins", "", []],
  [
    "Egress.Allow",
    "loopback, 10.1.0.0/16, ::1, api.internal, *.svc",
    ["loopback", "10.1.0.0/16", "::1", "api.internal", "*.svc"],
  ],
  [
    "Http.TrustedPeers",
    "LOOPBACK,10.1.0.0/16,::1,fd00::/8",
    ["LOOPBACK", "10.1.0.0/16", "::1", "fd00::/8"],
  ],
  ["Publish.RequireFlowVersion", "FALSE", false],
  ["Publish.RequireFlowVersion", "1", true],
  ["Log.Format", "JSON", "json"],
])("%s takes '%s' from the environment", (name, text, value) => {
  expect(valueOf(name, { env: { [name.replace(".", "__")]: text } }).value).toEqual(value);
});

test.each([
  "postgres://me:pw@db.example:5432/mill",
  "postgresql://me@db/mill?sslmode=require",
  "postgres://me:p%40ss@[::1]/mill",
  "postgres://me:pw@/mill?host=/var/run/postgresql",
  "postgres:///mill?host=/var/run/postgresql",
])("the connection string %s is taken", (url) => {
  expect(valueOf("Database.Url", { env: { DATABASE_URL: url } }).value).toBe(url);
});

test.each([
  "localhost:5432/hunter2",
  "mysql://me:hunter2@db/mill",
  "postgres://me:hun/ter2@db/mill",
  "postgres://me:hunter2@db:port/mill",
  "host=db password=hunter2",
])("the connection string %s is refused, and not repeated", (url) => {
  const refused = () => load({ env: { DATABASE_URL: url } });

  expect(refused).toThrow(
    /^Database\.Url in the environment variable DATABASE_URL is malformed; allowed: postgres:\/\/user:password@host:5432\/database, special characters percent-encoded\.$/,
  );
});

test.each([
  ["postgres://me:pw@db/mill", "postgres://me:***@db/mill"],
  ["postgres://me:p@ss:w@db/mill", "postgres://me:***@db/mill"],
  ["postgres://:pw@db/mill", "postgres://:***@db/mill"],
  ["postgres://me@db/mill", "postgres://me@db/mill"],
  [
    "postgres://me@db/mill?sslmode=require&password=pw&x=1",
    "postgres://me@db/mill?sslmode=require&password=***&x=1",
  ],
])("%s is shown as %s", (url, shown) => {
  expect(maskUrl(url)).toBe(shown);
  expect(shownValue("Database.Url", url)).toBe(shown);
});

test.each(["http://127.0.0.1:3500", "https://sidecar.internal/dapr/", ""])(
  "the sidecar's address '%s' is taken and shown",
  (url) => {
    expect(valueOf("Dapr.HttpEndpoint", { env: { DAPR_HTTP_ENDPOINT: url } }).value).toBe(url);
    expect(shownValue("Dapr.HttpEndpoint", url)).toBe(url);
  },
);

test.each(["127.0.0.1:3500", "ftp://sidecar", "http://me:hunter2@sidecar", "http://sidecar?a=1"])(
  "the sidecar's address '%s' is refused, and not repeated",
  (url) => {
    const refused = () => load({ env: { DAPR_HTTP_ENDPOINT: url } });

    expect(refused).toThrow(
      /^Dapr\.HttpEndpoint in the environment variable DAPR_HTTP_ENDPOINT is malformed; allowed: an http or https address without user, query and fragment\.$/,
    );
  },
);

test("the sidecar's token is not shown", () => {
  expect(shownValue("Dapr.ApiToken", "hunter2")).toBe("***");
});

test("of webhooks only the host is shown", () => {
  expect(
    shownValue("Notification.Channels", [
      "email=smtp",
      "sms=webhook:https://me:pw@hooks.example:8443/services/T0/secret?key=x",
      "push=webhook:http://hooks.example",
      "*=dapr",
    ]),
  ).toBe(
    "email=smtp,sms=webhook:https://hooks.example:8443/***,push=webhook:http://hooks.example/***,*=dapr",
  );
});

test("what a log must never show is gathered from all settings", () => {
  const { config } = load({
    flags: {
      "Database.Url": "postgres://me:db-pw@db/mill?password=query-pw",
      "Notification.Smtp.Url": "smtp://me:mail%40pw@mail.example",
      "Notification.WebhookSecret": "signing-key",
      "Notification.Channels": ["sms=webhook:https://me:hook-pw@hooks.example/in", "email=smtp"],
    },
  });

  expect(new Set(secretValues(config))).toEqual(
    new Set(["db-pw", "query-pw", "mail%40pw", "mail@pw", "signing-key", "hook-pw"]),
  );
  expect(secretValues(load().config)).toEqual([]);
});

test.each([
  ["smtp://mail.example", true],
  ["smtps://me:p%40ss@mail.example:465/", true],
  ["SMTP://[::1]:25", true],
  ["mail.example:25", false],
  ["https://mail.example", false],
  ["smtp://", false],
  ["smtp://me:100%@mail.example", false],
  ["smtp://mail.example/path", false],
])("%s as a mail server: %s", (url, fits) => {
  const loading = () => load({ env: { Notification__Smtp__Url: url } });

  if (fits) expect(loading().config["Notification.Smtp.Url"]).toBe(url);
  else expect(loading).toThrow(/^Notification\.Smtp\.Url in .* is malformed; allowed: smtp:/);
});

test.each([
  "main=postgres",
  "quick=memory",
  "cache=redis://127.0.0.1:6379",
  "cache=redis://:p%40ss@redis.internal:6379/2",
  "cache=rediss://user:pw@redis.internal",
  "remote=dapr:orders",
])("the state store %s is accepted", (entry) => {
  const { config } = load({ env: { StateStore__Stores: entry } });

  expect(config["StateStore.Stores"]).toEqual([entry]);
});

test.each([
  "postgres",
  "main=mysql",
  "cache=redis:",
  "cache=redis://:hunter2@host/name",
  "cache=redis://:hunter2@host:port",
  "remote=dapr:",
  "a b=memory",
])("the state store %s is refused, and not repeated", (entry) => {
  const refused = () => load({ env: { StateStore__Stores: entry } });

  expect(refused).toThrow(/StateStore\.Stores in .* is malformed; allowed: name=postgres, name=/);
  expect(refused).not.toThrow(/hunter2/);
});

test("state stores are shown without their passwords", () => {
  const stores = ["main=postgres", "a=redis://:p@ss@host:6379/0", "b=rediss://me:pw@host"];

  expect(shownValue("StateStore.Stores", stores)).toBe(
    "main=postgres,a=redis://:***@host:6379/0,b=rediss://me:***@host",
  );
});

test("lists are shown as they may be written, empty ones as nothing", () => {
  expect(shownValue("Http.TrustedPeers", ["loopback", "private"])).toBe("loopback,private");
  expect(shownValue("Http.CorsOrigins", [])).toBe("");
});
