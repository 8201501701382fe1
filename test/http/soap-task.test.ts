/** Task type 16: SOAP calls as a service sees them, and answers as scripts and callers do. */
import { describe, expect, test } from "vitest";
import { aCertificate } from "../support/a-certificate.ts";
import { slot, taskWith } from "../support/a-script-slot.ts";
import { aWebServer } from "../support/a-web-server.ts";
import { aWorkflow, hook } from "../support/a-workflow.ts";
import { openIncidents } from "../support/incidents.ts";
import { instancesOf } from "../support/instances-of.ts";
import { keepResponse, runRemoteTask } from "../support/run-remote-task.ts";
import { aTask } from "../support/run-task.ts";
import { envelope, getRate, startSoapService, type SoapVersion } from "../support/soap-service.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const service = await startSoapService();
const app = await startRuntimeForFile({
  settings: { "Egress.Allow": ["loopback"] },
});
const incidentsOf = await openIncidents(app.databaseUrl);

const rateTask = { url: service.url, soapAction: "urn:rates#GetRate" };

const soap = (config: object, mapping?: object, data?: object) =>
  runRemoteTask(app, "16", { ...rateTask, ...config }, mapping, data);

const lastRequest = () => service.requests.at(-1)!;

/** A mapping with both handlers, written as their bodies; `ParseXml` and the classes are there. */
const mapping = (input: string, out: string) =>
  slot(`
    import { ScriptBase, SoapTask, XmlDocument } from "millrace/script";
    export default class Mapping extends ScriptBase {
      InputHandler(task: SoapTask, context: any) { ${input} return {}; }
      OutputHandler(context: any) { ${out} }
    }`);

/** Reads one element of the answer, whatever its prefix is. */
const readElement = (name: string) =>
  mapping(
    "",
    `const doc = this.ParseXml(context.Body.data);
     return { Data: { parsed: doc !== null, text: doc?.SelectSingleNode("//*[local-name()='${name}']")?.InnerText ?? null, success: context.Body.isSuccess } };`,
  );

describe("a SOAP call", () => {
  test("of version 1.1 has its content type and the action as a quoted header", async () => {
    const body = getRate("EUR");

    const { attributes } = await soap({ body }, readElement("rate"));

    expect(lastRequest()).toMatchObject({
      method: "POST",
      url: "/rates",
      headers: {
        "content-type": "text/xml; charset=utf-8",
        soapaction: '"urn:rates#GetRate"',
      },
      body,
    });
    expect(attributes).toEqual({ parsed: true, text: "0.92", success: true });
  });

  test("of version 1.2 has the action in its content type, and no header of it", async () => {
    const body = getRate("TRY", "1.2");

    const { attributes } = await soap({ body, soapVersion: "1.2" }, readElement("rate"));

    expect(lastRequest().headers["content-type"]).toBe(
      'application/soap+xml; charset=utf-8; action="urn:rates#GetRate"',
    );
    expect(lastRequest().headers).not.toHaveProperty("soapaction");
    expect(attributes).toEqual({ parsed: true, text: "41.70", success: true });
  });

  test.each([
    ["1.1", '""', "text/xml; charset=utf-8"],
    ["1.2", undefined, "application/soap+xml; charset=utf-8"],
  ])("of version %s without an action says so", async (soapVersion, header, contentType) => {
    await soap({ soapVersion, soapAction: "" });

    expect(lastRequest().headers["soapaction"]).toBe(header);
    expect(lastRequest().headers["content-type"]).toBe(contentType);
  });

  test("does not quote an action that is in quotes", async () => {
    await soap({ soapAction: '"urn:rates#GetRate"' });

    expect(lastRequest().headers["soapaction"]).toBe('"urn:rates#GetRate"');
  });

  test("carries the task's headers, and the key that names this execution", async () => {
    await soap({ headers: { "X-Branch": "42", Authorization: "Basic abc" } });

    expect(lastRequest().headers).toMatchObject({
      "x-branch": "42",
      authorization: "Basic abc",
      "idempotency-key": expect.stringMatching(/./),
    });
  });

  test("sends a content type and an action of the task's own headers as they are", async () => {
    await soap({ headers: { "content-type": "text/xml;charset=UTF-8", soapaction: "bare" } });

    expect(lastRequest().headers).toMatchObject({
      "content-type": "text/xml;charset=UTF-8",
      soapaction: "bare",
    });
  });

  test("sends characters beyond ASCII in UTF-8", async () => {
    const body = envelope("<a>İstanbul – çığ €</a>");

    const { attributes } = await soap({ body, soapAction: "urn:rates#Echo" }, readElement("a"));

    expect(lastRequest().body).toBe(body);
    expect(attributes).toMatchObject({ text: "İstanbul – çığ €" });
  });

  test("is known by its type's name as well", async () => {
    const { attributes } = await runRemoteTask(app, "SoapTask", {
      ...rateTask,
      body: getRate("EUR"),
    });

    expect(attributes).toMatchObject({ seen: { isSuccess: true, taskType: "soap" } });
  });
});

describe("the input handler", () => {
  test("sets address, body, action and headers", async () => {
    const input = `
      task.SetUrl(task.Url + "?from=script");
      const doc = new XmlDocument();
      doc.LoadXml(task.Body);
      doc.SelectSingleNode("//*[local-name()='currency']").InnerText = context.Instance.Data.currency;
      task.SetBody(doc);
      task.SetSoapAction("urn:rates#GetRate");
      task.SetHeaders({ "X-One": "1", "X-Two": "2", "X-None": null });
      task.AddHeader("x-one", "uno");
      task.AddHeader("X-Three", "3");
      task.RemoveHeader("x-two");`;

    const { attributes } = await soap(
      { body: getRate("none"), soapAction: "other", headers: { "X-Gone": "1" } },
      mapping(input, "return { Data: { seen: context.Body.data } };"),
      { currency: "TRY" },
    );

    const { url, body, headers } = lastRequest();
    expect({ url, body }).toEqual({ url: "/rates?from=script", body: getRate("TRY") });
    expect(headers).toMatchObject({
      soapaction: '"urn:rates#GetRate"',
      "x-one": "uno",
      "x-three": "3",
    });
    expect(Object.keys(headers)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^x-(two|none|gone)$/)]),
    );
    expect(attributes["seen"]).toContain("<r:rate>41.70</r:rate>");
  });

  test("may set the body as text, or none at all", async () => {
    await soap({}, mapping(`task.SetBody("<from-script/>");`, "return {};"));
    expect(lastRequest().body).toBe("<from-script/>");

    await soap({ body: getRate("EUR") }, mapping("task.SetBody(null);", "return {};"));
    expect(lastRequest().body).toBe("");
  });
});

describe("the response", () => {
  test("is the raw XML, in data and in body, with the status and the headers", async () => {
    const body = '<?xml version="1.0"?>\r\n<a>\n  <b/>\n</a>';
    service.answerWith({ body, headers: { "x-answer": "yes" } });

    const { attributes } = await soap({});

    expect(attributes).toMatchObject({
      seen: {
        data: body,
        body,
        statusCode: 200,
        isSuccess: true,
        headers: { "x-answer": "yes" },
        metadata: { Url: service.url, Method: "POST", ReasonPhrase: "OK" },
        taskType: "soap",
      },
    });
    expect(attributes["seen"]).not.toHaveProperty("errorMessage");
  });

  const turkish = "Şişli, İzmir, çığ";
  const named: [string, string, string, Buffer][] = [
    ["ISO-8859-9", "text/xml; charset=ISO-8859-9", "", latin5(turkish)],
    ["windows-1254", 'text/xml; charset="windows-1254"', "", latin5(turkish)],
    ["ISO-8859-9 by its declaration", "text/xml", "ISO-8859-9", latin5(turkish)],
    ["UTF-16", "text/xml; charset=utf-16", "", Buffer.from(`\ufeff<a>${turkish}</a>`, "utf16le")],
    ["UTF-16 without a mark", "text/xml", "", Buffer.from(`<a>${turkish}</a>`, "utf16le").swap16()],
    ["UTF-8", "text/xml", "", Buffer.from(`<a>${turkish}</a>`)],
  ];
  test.each(named)("in %s is read right", async (_, contentType, declared, content) => {
    const head = declared === "" ? "" : `<?xml version="1.0" encoding="${declared}"?>`;
    service.answerWith({
      headers: { "content-type": contentType },
      body: Buffer.concat([Buffer.from(head, "latin1"), content]),
    });

    const { attributes } = await soap({}, readElement("a"));

    expect(attributes).toMatchObject({ parsed: true, text: turkish });
  });

  test("with attachments is its root part", async () => {
    const body = [
      "--frontier",
      'Content-Type: application/xop+xml; charset=utf-8; type="text/xml"',
      "Content-Transfer-Encoding: 8bit",
      "Content-ID: <root@service>",
      "",
      "<a>Şişli</a>",
      "--frontier",
      "Content-Type: application/pdf",
      "Content-ID: <file@service>",
      "",
      "%PDF-1.7",
      "--frontier--",
    ].join("\r\n");
    const type =
      'multipart/related; boundary=frontier; type="application/xop+xml"; start="<root@service>"';
    service.answerWith({ headers: { "content-type": type }, body });

    const { attributes } = await soap({});

    expect(attributes).toMatchObject({ seen: { data: "<a>Şişli</a>", body: "<a>Şişli</a>" } });
  });

  test("without a mapping is kept nowhere in the data, since text is no object", async () => {
    const { attributes, instance } = await soap({ body: getRate("EUR") }, { type: "G" });

    expect(attributes).toEqual({});
    expect(instance.metadata).toMatchObject({ currentState: "done", status: "A" });
  });
});

describe.each<SoapVersion>(["1.1", "1.2"])("a fault of version %s", (soapVersion) => {
  const body = getRate("XAU", soapVersion);
  const reason = "No rate of 'XAU' & co.";

  test("with its status listed is a success that the output handler reads", async () => {
    const { attributes, instance } = await soap(
      { body, soapVersion, acceptedStatusCodes: ["500"] },
      readElement(soapVersion === "1.1" ? "faultstring" : "Text"),
    );

    expect(attributes).toEqual({ parsed: true, text: reason, success: true });
    expect(instance.metadata).toMatchObject({ currentState: "done", status: "A" });
  });

  test("with its status not listed fails the task, and the output handler sees it", async () => {
    const { attributes, instance, id } = await soap({ body, soapVersion });

    expect(attributes).toMatchObject({
      seen: {
        statusCode: 500,
        isSuccess: false,
        errorMessage: `HTTP InternalServerError: Internal Server Error. SOAP fault: ${reason}`,
        data: expect.stringContaining("Fault>"),
      },
    });
    expect(instance.metadata).toMatchObject({ currentState: "open", status: "F" });
    expect(await incidentsOf(id)).toMatchObject([
      {
        error_code: "Task:Soap:500",
        error_layer: "Task",
        message: expect.stringContaining(reason),
      },
    ]);
  });
});

describe("an error status", () => {
  test.each([
    ["5xx", 503, true],
    ["50x", 500, true],
    ["404", 500, false],
  ])("listed as %s: %i is a success: %j", async (listed, status, isSuccess) => {
    service.answerWith({ status, body: "<down/>" });

    const { attributes } = await soap({ acceptedStatusCodes: [listed] });

    expect(attributes).toMatchObject({ seen: { statusCode: status, isSuccess, data: "<down/>" } });
  });

  test("without a fault says no more than the status does", async () => {
    service.answerWith({ status: 503, body: "<html><h1>Down" });

    const { attributes } = await soap({});

    expect(attributes).toMatchObject({
      seen: { errorMessage: "HTTP ServiceUnavailable: Service Unavailable" },
    });
  });
});

describe("a request that is not answered", () => {
  test.each([
    ["without an address", `task.Url = " ";`, "it has no url"],
    ["with an action of two lines", `task.SetSoapAction("a\\r\\nX-Evil: 1");`, "its soapAction is"],
    ["with NUL in its action", `task.SetSoapAction("a\\u0000b");`, "its soapAction is 'a b'"],
    ["with a quote in its action", `task.SetSoapAction('a"; x="');`, "its soapAction is"],
    ["with an action beyond ASCII", `task.SetSoapAction("urn:çek");`, "its soapAction is"],
    [
      "with another charset",
      `task.AddHeader("Content-Type", "text/xml; charset=iso-8859-9");`,
      "its Content-Type names the charset 'iso-8859-9', but an envelope is sent in UTF-8",
    ],
  ])("(%s) is not sent, and fails the task", async (_, input, message) => {
    const before = service.requests.length;

    const { id, attributes } = await soap(
      {},
      mapping(input, "return { Data: { handled: true } };"),
    );

    expect(service.requests).toHaveLength(before);
    expect(attributes).toEqual({});
    expect(await incidentsOf(id)).toMatchObject([
      { error_code: "Task:Soap:InvalidRequest", message: expect.stringContaining(message) },
    ]);
  });

  test("that gets no answer in time is cancelled", async () => {
    service.answerWith({ never: true });

    const { attributes, id } = await soap({ timeoutSeconds: 1 });

    expect(attributes).toMatchObject({
      seen: {
        isSuccess: false,
        data: null,
        metadata: { Cancelled: true, ExceptionType: "TaskCanceledException" },
      },
    });
    expect(await incidentsOf(id)).toMatchObject([
      { error_code: "Task:Soap:Exception", error_layer: "Transport" },
    ]);
  });

  test("by a server whose certificate nobody vouches for is not sent, unless it need not be valid", async () => {
    const server = await aWebServer((_, __, response) => response.end("<a/>"), aCertificate());

    const strict = await soap({ url: server.url });
    expect(strict.attributes).toMatchObject({ seen: { isSuccess: false, data: null } });
    expect(server.asked).toHaveLength(0);

    const lax = await soap({ url: server.url, validateSsl: false });
    expect(lax.attributes).toMatchObject({ seen: { isSuccess: true, data: "<a/>" } });
  });

  test("to an address that nobody listens on fails as a call without an answer", async () => {
    const { attributes } = await soap({ url: "http://127.0.0.1:1/rates" });

    expect(attributes).toMatchObject({
      seen: { isSuccess: false, data: null, metadata: { ExceptionType: "HttpRequestException" } },
    });
    expect(attributes["seen"]).not.toHaveProperty("statusCode");
  });
});

const keepParsed = mapping(
  "",
  `const doc = this.ParseXml(context.Body.data);
   return { Data: { parsed: doc !== null, length: doc === null ? 0 : doc.InnerText.length } };`,
);

const doctype = (subset: string, content = "&a;") =>
  `<?xml version="1.0"?><!DOCTYPE r [${subset}]><r>${content}</r>`;
const laughs = Array.from(
  { length: 10 },
  (_, i) => `<!ENTITY a${i + 1} "${`&a${i};`.repeat(10)}">`,
).join("");

/** Name, the answer, how much text a script finds in it; null where it is no document. */
const bombs: [string, string, number | null][] = [
  ["billion laughs", doctype(`<!ENTITY a0 "ha">${laughs}`, "&a10;"), null],
  ["quadratic blow-up", doctype(`<!ENTITY a "${"x".repeat(50_000)}">`, "&a;".repeat(50_000)), null],
  ["an entity of itself", doctype('<!ENTITY a "&a;">'), null],
  ["two entities of each other", doctype('<!ENTITY a "&b;"><!ENTITY b "&a;">'), null],
  ["a file", doctype('<!ENTITY a SYSTEM "file:///etc/passwd">'), null],
  ["an address", doctype(`<!ENTITY a SYSTEM "${service.url}/entity">`), null],
  ["a public entity", doctype(`<!ENTITY a PUBLIC "p" "${service.url}/entity">`), null],
  ["a parameter entity", doctype(`<!ENTITY % p SYSTEM "${service.url}/dtd">%p;`, ""), null],
  ["parameter laughs", doctype(`<!ENTITY % a "x"><!ENTITY % b "%a;%a;%a;">%b;`, ""), null],
  ["an outer document type", `<!DOCTYPE r SYSTEM "${service.url}/dtd"><r/>`, null],
  ["default attributes", doctype(`<!ATTLIST r ${'x CDATA "y" '.repeat(10_000)}>`, ""), null],
  ["a document type that never ends", `<!DOCTYPE r [${"<!ENTITY a 'x'>".repeat(20_000)}`, null],
  ["a deep document", `${"<a>".repeat(50_000)}${"</a>".repeat(50_000)}`, null],
  ["a deep document that is not closed", "<a>".repeat(100_000), null],
  ["a huge attribute", `<a b="${"x".repeat(300_000)}"/>`, 0],
  ["an attribute that never ends", `<a b="${"x".repeat(300_000)}`, null],
  ["a thousand attributes of one name", `<a ${'b="" '.repeat(1000)}/>`, null],
  ["a long name", `<${"n".repeat(300_000)}/>`, 0],
  [
    "many namespaces",
    `<a ${Array.from({ length: 2000 }, (_, i) => `xmlns:n${i}="u${i}"`).join(" ")}/>`,
    0,
  ],
  ["a long comment", `<a><!--${"- ".repeat(150_000)}--></a>`, 0],
  ["a comment that never ends", `<a><!--${"x".repeat(300_000)}`, null],
  ["CDATA that never ends", `<a><![CDATA[${"]]".repeat(150_000)}`, null],
  ["references to characters", `<a>${"&#65;".repeat(20_000)}</a>`, 20_000],
  ["a reference beyond all characters", "<a>&#x7fffffff;</a>", null],
  ["instructions", `<a>${"<?x y?>".repeat(5000)}</a>`, 0],
  ["NUL", "<a>\0</a>", 1],
  ["no XML", "\u0001\u0002".repeat(1000), null],
];

await app.publish(
  aTask("hurt", "16", rateTask),
  aWorkflow("hurt")
    .state("open")
    .transition("parse", { to: "done", onExecutionTasks: [taskWith("hurt", keepParsed)] })
    .transition("ask", { to: "done", onExecutionTasks: hook("hurt") })
    .state("done"),
);
const hurt = instancesOf(app, "hurt");

describe("an answer made to hurt", () => {
  test.each(bombs)("(%s) is text, and fetches nothing", async (_, body, length) => {
    const id = await hurt.begin();
    const before = service.requests.length;
    service.answerWith({ body });

    await hurt.send(id, "parse");

    expect(await hurt.read(id)).toMatchObject({
      attributes: { parsed: length !== null, length: length ?? 0 },
      metadata: { currentState: "done", status: "A" },
    });
    expect(service.requests).toHaveLength(before + 1);
  });

  test.each(bombs)("(%s) as a fault fails its task alone", async (_, body) => {
    const id = await hurt.begin();
    service.answerWith({ status: 500, body });

    await hurt.send(id, "ask");

    expect(await incidentsOf(id)).toMatchObject([{ error_code: "Task:Soap:500" }]);
  });

  test("that is larger than allowed is cut off", async () => {
    service.answerWith({ body: `<a>${"x".repeat(6 * 1024 * 1024)}</a>` });

    const { attributes } = await soap({}, keepResponse);

    expect(attributes).toMatchObject({ seen: { isSuccess: false, data: null } });
  });
});

/** ISO-8859-9, which is windows-1254 for these letters, of `<a>…</a>`. */
function latin5(text: string): Buffer {
  const codes: Record<string, number> = { Ş: 0xde, ş: 0xfe, İ: 0xdd, ı: 0xfd, Ğ: 0xd0, ğ: 0xf0 };
  const bytes = Array.from(`<a>${text}</a>`, (letter) => codes[letter] ?? letter.charCodeAt(0));
  return Buffer.from(bytes);
}
