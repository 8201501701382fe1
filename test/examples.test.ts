import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { readComponentFiles, readPackageConfig } from "../src/deploy/package-folder.ts";
import { eventually } from "./support/eventually.ts";
import { codeOf, instancesOf, type InstanceBody } from "./support/instances-of.ts";
import { publishPath, startRuntime, startRuntimeForFile } from "./support/start-runtime.ts";

vi.setConfig({ testTimeout: 300_000 });

const root = fileURLToPath(new URL("..", import.meta.url));
const folderOf = (name: string) => join(root, "examples", name);
const packages = readdirSync(join(root, "examples"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

test.each(packages)("examples/%s is published without a warning", async (name) => {
  const app = await startRuntime();
  const path = folderOf(name);
  const files = await readComponentFiles(path, await readPackageConfig(path));

  expect(files).not.toEqual([]);
  for (const file of files) {
    for (const component of file.components) {
      const { status, body } = await app.post(publishPath, component);
      expect([file.path, status, body]).toMatchObject([file.path, 200, { warnings: [] }]);
    }
  }
});

test("the loans as a package, without their partners, say what to configure", async () => {
  const app = await startRuntime();
  const path = folderOf("loans");
  const files = await readComponentFiles(path, await readPackageConfig(path));
  await app.publish(...files.flatMap(({ components }) => components as object[]));
  const loans = instancesOf(app, "loan-application", "loans");
  const id = await loans.begin({ attributes: { amount: 1000, applicant: { name: "Ada" } } });

  await loans.send(id, "submit");

  expect((await app.get(`${loans.path}/${id}/incidents/active`)).body).toMatchObject({
    state: "identity",
    message: expect.stringContaining(
      "Set Partners__Url, and list it in Scripting.Environment.",
    ) as string,
  });
});

interface Embedding {
  embed(text: string, folder: string): string;
  componentFilesBelow(folder: string): string[];
}

test.each(packages)("the components of examples/%s carry the scripts of its src/", async (name) => {
  const script = new URL("../scripts/embed-scripts.mjs", import.meta.url);
  const { embed, componentFilesBelow } = (await import(script.href)) as Embedding;

  for (const file of componentFilesBelow(folderOf(name))) {
    const text = readFileSync(file, "utf8");
    expect(embed(text, folderOf(name))).toBe(text);
  }
});

test.each(packages)("the scripts of examples/%s fit the typings of millrace/script", (name) => {
  const cache = join(root, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const typings = mkdtempSync(join(cache, "typings-examples-"));
  onTestFinished(() => rmSync(typings, { recursive: true, force: true }));
  execFileSync(process.execPath, [join(root, "scripts/generate-script-typings.mjs"), typings]);
  const own = join(folderOf(name), "tsconfig.json");
  const { compilerOptions } = JSON.parse(readFileSync(own, "utf8")) as {
    compilerOptions: { paths: Record<string, string[]> };
  };
  const here = Object.entries(compilerOptions.paths).map(([module, paths]) => [
    module,
    paths.map((path) => join(folderOf(name), path)),
  ]);
  const paths = {
    ...(Object.fromEntries(here) as Record<string, string[]>),
    "millrace/script": [join(typings, "script.d.ts")],
  };
  const config = join(typings, "tsconfig.json");
  const include = [join(folderOf(name), "src")];
  writeFileSync(config, JSON.stringify({ extends: own, compilerOptions: { paths }, include }));

  expect(complaintsOf(config)).toBe("");
});

function complaintsOf(config: string): string {
  const typescript = createRequire(import.meta.url).resolve("typescript/package.json");
  const { bin } = JSON.parse(readFileSync(typescript, "utf8")) as { bin: { tsc: string } };
  try {
    execFileSync(process.execPath, [join(dirname(typescript), bin.tsc), "-p", config]);
    return "";
  } catch (error) {
    return String((error as { stdout: Buffer }).stdout);
  }
}

describe("the loans", async () => {
  const app = await startRuntimeForFile({
    settings: { "Runtime.Samples": "on", "Egress.Allow": ["loopback"] },
    roles: ["api", "worker"],
  });
  const loans = instancesOf(app, "loan-application", "loans");
  const clerk = { headers: { role: "backoffice", act_sub: "clerk-7" } };
  const customer = { headers: { role: "customer", act_sub: "ada" } };

  const apply = (amount: number, applicant: object = { name: " Ada " }, more: object = {}) =>
    loans.begin({ attributes: { amount, currency: "try", applicant, ...more } });
  const submit = (id: string, termMonths = 24) =>
    loans.send(id, "submit", { attributes: { termMonths } });
  /** As the back office sees it, which sees everything. */
  const read = async (id: string) => (await loans.get(id, clerk)).body as InstanceBody;

  test("an application is stored as its start mapping makes it", async () => {
    const id = await apply(5000.005);

    expect((await read(id)).attributes).toEqual({
      amount: 5000.01,
      currency: "TRY",
      applicant: { name: "Ada" },
    });
  });

  test.each([
    [1000, 12, "approved", "approve-small"],
    [3000, 24, "approved", "approve-good-score"],
    [5000, 24, "review", "ask-a-person"],
  ])("%i for %i months is scored and goes to %s", async (amount, termMonths, state, by) => {
    const id = await apply(amount);

    await submit(id, termMonths);

    const { metadata, attributes } = await read(id);
    expect(metadata.currentState).toBe(state);
    expect((await loans.history(id)).at(-1)).toMatchObject({ transitionKey: by });
    expect(attributes).toMatchObject({
      identity: { isConfirmed: true, confirmedBy: "registry", personNumber: "P-1815" },
      rating: 1000,
      score: expect.any(Number) as number,
      offer: { termMonths },
    });
  });

  test("a decision is recorded with who made it", async () => {
    const id = await apply(5000);
    await submit(id);
    expect((await read(id)).metadata.stage).toBe("scored");

    await loans.send(id, "reject", { attributes: { decision: { reason: "no" } } }, clerk);

    expect(await read(id)).toMatchObject({
      metadata: { status: "C", stage: "decided" },
      attributes: { decision: { outcome: "rejected", by: "clerk-7", reason: "no" } },
    });
  });

  test.each([
    [{ name: "Ada", email: "ada@example.com" }, ["email", "state"]],
    [{ name: "Ada" }, ["state"]],
  ])("the applicant %o is told the decision by %j", async (applicant, channels) => {
    const id = await apply(1000, applicant);

    await submit(id);

    const { told } = (await read(id)).attributes as { told: string[] };
    expect(told.toSorted()).toEqual(channels);
  });

  test("somebody the registry does not know waits for a person, who answers through the application", async () => {
    const id = await apply(1000, { name: "Hedy" });

    expect(await submit(id)).toMatchObject({ status: 200, body: { status: "B" } });
    expect((await read(id)).metadata).toMatchObject({
      currentState: "identity",
      effectiveState: "unknown",
    });

    expect(codeOf(await loans.send(id, "confirm", {}, customer))).toMatch(/^403 /);
    await loans.send(id, "confirm", {}, clerk);

    expect(await read(id)).toMatchObject({
      metadata: { currentState: "approved", status: "C" },
      attributes: { identity: { isConfirmed: true, confirmedBy: "clerk-7" }, rating: 600 },
    });
  });

  test("an application of somebody nobody vouches for is rejected", async () => {
    const id = await apply(1000, { name: "Trudy" });
    await submit(id);

    await loans.send(id, "refuse", {}, clerk);

    expect((await read(id)).metadata).toMatchObject({ currentState: "rejected", status: "C" });
  });

  test("a busy bureau is asked again, and its rating is kept for the next time", async () => {
    const first = await apply(3000, { name: "Grace" });
    const second = await apply(3000, { name: "Grace" });

    await submit(first);
    await submit(second);

    expect(await read(first)).toMatchObject({
      metadata: { currentState: "approved", incident: { hasActiveIncident: false } },
      attributes: { rating: 950 },
    });
    const keys = async (id: string) =>
      (await loans.history(id)).map(({ transitionKey }) => transitionKey);
    expect(await keys(first)).toContain("ask-for-rating");
    expect(await keys(second)).toContain("use-known-rating");
  });

  test("a bureau that stays busy takes the offer back, and a person decides", async () => {
    const id = await apply(3000, { name: "Charles" });

    await submit(id);

    expect(await read(id)).toMatchObject({
      metadata: { currentState: "review", status: "A", stage: "without rating" },
      attributes: { offer: { termMonths: 24, isTakenBack: true } },
    });
    expect((await app.get(`${loans.path}/${id}/incidents`)).body).toMatchObject({
      hasActiveIncident: false,
      items: [{ task: "ask-bureau", statusCode: 503, boundaryAction: "Rollback", retryCount: 2 }],
    });
  });

  test("a bureau that refuses faults the application, and a retry with what was missing goes on", async () => {
    const id = await apply(3000, { name: "Alan" });

    expect(await submit(id)).toMatchObject({ status: 200, body: { status: "F" } });
    expect((await app.get(`${loans.path}/${id}/incidents/active`)).body).toMatchObject({
      state: "rating",
      transition: "ask-for-rating",
      task: "ask-bureau",
      statusCode: 409,
    });

    const again = await app.post(`${loans.path}/${id}/retry?sync=true`, {
      attributes: { applicant: { birthYear: 1912 } },
    });

    expect(again).toMatchObject({ status: 200, body: { status: "C" } });
    expect(await read(id)).toMatchObject({
      metadata: { currentState: "approved", incident: { hasActiveIncident: false } },
      attributes: { applicant: { name: "Alan", birthYear: 1912 }, rating: 960 },
    });
  });

  test("an application is withdrawn with its identity check, by the applicant alone", async () => {
    const id = await apply(1000, { name: "Mallory" });
    await submit(id);
    const checks = instancesOf(app, "identity-check", "loans");
    const filter = `filter=${encodeURIComponent(JSON.stringify({ attributes: { name: { eq: "Mallory" } } }))}`;
    const { items } = (await checks.list(filter)).body as { items: { id: string }[] };

    expect(codeOf(await loans.send(id, "withdraw", {}, clerk))).toMatch(/^403 /);
    await loans.send(id, "withdraw", {}, customer);

    expect((await read(id)).metadata).toMatchObject({ currentState: "withdrawn", status: "C" });
    expect((await checks.read(items[0]!.id)).metadata).toMatchObject({
      currentState: "stopped",
      status: "C",
    });
  });

  test("an application lapses when its time is over", async () => {
    const id = await apply(5000, { name: "Ada" }, { holdsFor: "PT1S" });

    await eventually(async () => {
      expect((await read(id)).metadata).toMatchObject({ currentState: "expired", status: "C" });
    });

    expect((await loans.history(id)).at(-1)).toMatchObject({ transitionKey: "lapse" });
  });

  test("contact details are changed while a check is under way", async () => {
    const id = await apply(1000, { name: "Oscar" });
    await submit(id);

    await loans.send(id, "amend", {
      attributes: { applicant: { email: "oscar@example.com" } },
    });

    expect(await read(id)).toMatchObject({
      metadata: { currentState: "identity", effectiveState: "unknown" },
      attributes: { applicant: { name: "Oscar", email: "oscar@example.com" } },
    });
  });

  test("the customer sees the account masked, and neither rating nor score", async () => {
    const id = await apply(5000, { name: "Ada", iban: "DE02120300000000202051" });
    await submit(id);

    const { attributes: shown } = (await loans.get(id, customer)).body as InstanceBody;

    expect(shown).toMatchObject({ applicant: { iban: "DE****************2051" } });
    expect(shown).not.toHaveProperty("rating");
    expect(shown).not.toHaveProperty("score");
    expect((await read(id)).attributes).toMatchObject({
      applicant: { iban: "DE02120300000000202051" },
      rating: 1000,
      score: 781,
    });
    expect(codeOf(await loans.send(id, "approve", {}, customer))).toMatch(/^403 /);
  });

  describe("what front ends read", () => {
    const inReview = async (applicant: object = { name: "Ada" }) => {
      const id = await apply(5000, applicant);
      expect(await submit(id)).toMatchObject({ status: 200, body: { status: "A" } });
      return id;
    };
    const ask = (id: string, name: string, { headers }: { headers: Record<string, string> }) =>
      app.get(`${loans.path}/${id}/functions/${name}`, headers);

    test.each([
      ["view", "loan-form", "pseudo-ui"],
      ["view?platform=web", "loan-form-web", "react"],
    ])("a draft's %s is %s, for %s", async (name, key, renderer) => {
      const id = await apply(5000);

      expect(await ask(id, name, customer)).toMatchObject({ status: 200, body: { key, renderer } });
    });

    test("a review shows the back office its desk, and the customer that it goes on", async () => {
      const id = await inReview();

      expect((await ask(id, "view", clerk)).body).toMatchObject({
        key: "review-desk",
        renderer: "react",
      });
      expect((await ask(id, "view", customer)).body).toMatchObject({
        key: "in-process",
        renderer: "pseudo-ui",
      });
    });

    test("each is offered what is theirs", async () => {
      const id = await inReview();
      const offers = async (caller: typeof clerk) => {
        const { body } = await ask(id, "state", caller);
        const { state, transitions } = body as {
          state: string;
          transitions: { name: string; kind: string }[];
        };
        return [state, ...transitions.map(({ name }) => name)];
      };

      expect(await offers(clerk)).toEqual([
        "review",
        "approve",
        "reject",
        "add-note",
        "amend",
        "expire",
      ]);
      expect(await offers(customer)).toEqual([
        "We are looking at it",
        "add-note",
        "withdraw",
        "amend",
        "expire",
      ]);
    });

    test("the risk report is listed for the back office, and answered to nobody else", async () => {
      const id = await inReview();
      const listed = async (caller: typeof clerk) => {
        const { body } = await ask(id, "catalog", caller);
        return (body as { functions: { name: string }[] }).functions.map(({ name }) => name);
      };

      expect(await listed(clerk)).toEqual(["instalments", "risk-report"]);
      expect(await listed(customer)).toEqual(["instalments"]);
      expect(codeOf(await ask(id, "risk-report", customer))).toMatch(/^403 /);
      expect((await ask(id, "risk-report", clerk)).body).toEqual({
        riskReport: { amount: 5000, rating: 1000, score: 781, vouchedFor: "registry" },
      });
    });

    test("other applications of the person stand beside the data, when asked for", async () => {
      const first = await inReview({ name: "Grace" });
      const second = await inReview({ name: "Grace" });
      const draft = await apply(5000, { name: "Grace" });
      const extensionsOf = async (id: string, query = "extensions=other-applications") => {
        const { body } = await loans.get(id, { ...clerk, query });
        return (body as { extensions: { otherApplications?: { id: string }[] } }).extensions;
      };
      const othersOf = async (id: string) =>
        (await extensionsOf(id)).otherApplications?.map((other) => other.id);

      expect(await othersOf(second)).toContain(first);
      expect(await othersOf(first)).toContain(second);
      expect(await othersOf(draft)).toEqual([]);
      expect(await extensionsOf(second, "")).toEqual({});
    });

    test("instalments are calculated for what fits the input schema, which can be asked for", async () => {
      const path = "/api/v1/loans/functions/instalments";

      expect((await app.get(`${path}/schema?target=input`)).body).toMatchObject({
        key: "instalment-request",
        schema: { required: ["amount", "termMonths"] },
      });
      expect((await app.get(`${path}/view?target=input`)).body).toMatchObject({
        key: "instalment-form",
      });
      expect(await app.post(path, { amount: 1200, termMonths: 12 })).toMatchObject({
        status: 200,
        body: { annualRate: 0.049, monthly: 102.67, total: 1232.04 },
      });
      expect(await app.post(path, { amount: 1200 })).toMatchObject({ status: 400 });
    });
  });

  test("a quote is answered 201 by its output script, with its own header and content type", async () => {
    const quotes = instancesOf(app, "quote", "loans");

    const asked = await quotes.start({ attributes: { amount: 1200 } });

    const { quote } = asked.body as { quote: string };
    expect(asked).toMatchObject({
      status: 201,
      headers: { "x-quote-id": quote, "content-type": "application/vnd.loans.quote+json" },
      body: { state: "open", offers: [{ termMonths: 12, monthly: 102.67 }, {}, {}] },
    });
    expect(await quotes.send(quote, "take")).toMatchObject({
      status: 200,
      body: { quote, state: "taken" },
    });
  });
});
