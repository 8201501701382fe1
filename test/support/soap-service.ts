/**
 * A small SOAP service on the loopback, strict as real ones are: it takes POST with the content type
 * of its version, finds the operation by the action, and answers faults of the version it was asked in.
 *
 *   urn:rates#GetRate   the rate of <currency>; a fault for one it does not know
 *   urn:rates#Echo      the envelope as it came
 *
 * `answerWith` makes it answer anything else, for one request.
 */
import type { ServerResponse } from "node:http";
import { aWebServerForFile, type Asked } from "./a-web-server.ts";

export interface SoapAnswer {
  status?: number;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** The request is taken, and left without an answer. */
  never?: true;
}

export interface SoapService {
  url: string;
  /** What has arrived, the latest last. */
  requests: readonly Asked[];
  answerWith(answer: SoapAnswer): void;
}

export const soapNamespaces = {
  "1.1": "http://schemas.xmlsoap.org/soap/envelope/",
  "1.2": "http://www.w3.org/2003/05/soap-envelope",
} as const;

export type SoapVersion = keyof typeof soapNamespaces;

export const envelope = (content: string, version: SoapVersion = "1.1"): string =>
  `<s:Envelope xmlns:s="${soapNamespaces[version]}"><s:Body>${content}</s:Body></s:Envelope>`;

export const getRate = (currency: string, version: SoapVersion = "1.1"): string =>
  envelope(
    `<r:GetRate xmlns:r="urn:rates"><r:currency>${currency}</r:currency></r:GetRate>`,
    version,
  );

const rates: Readonly<Record<string, string>> = { EUR: "0.92", TRY: "41.70" };

const contentTypes = {
  "1.1": "text/xml; charset=utf-8",
  "1.2": "application/soap+xml; charset=utf-8",
} as const;

/** Called at the top of a file; closes with the file's tests. */
export async function startSoapService(): Promise<SoapService> {
  const answers: SoapAnswer[] = [];
  const { url, asked } = await aWebServerForFile((request, _, response) => {
    send(response, answers.shift() ?? serve(request));
  });
  return {
    url: `${url}/rates`,
    requests: asked,
    answerWith: (answer) => void answers.push(answer),
  };
}

function send(response: ServerResponse, answer: SoapAnswer): void {
  const { status = 200, headers, body = "", never } = answer;
  if (never === true) return;
  response.writeHead(status, { "content-type": contentTypes["1.1"], ...headers });
  response.end(body);
}

function serve(request: Asked): SoapAnswer {
  if (request.method !== "POST") return { status: 405, headers: { allow: "POST" } };
  const version = versionOf(request);
  if (version === undefined) return { status: 415 };
  const { body } = request;
  if (!body.includes(`"${soapNamespaces[version]}"`)) {
    return fault(version, "VersionMismatch", "The envelope is of another version.");
  }
  switch (actionOf(request, version)) {
    case "urn:rates#Echo":
      return answerOf(version, body);
    case "urn:rates#GetRate":
      return answerRate(version, body);
    default:
      return fault(version, "Client", "There is no operation of that action.");
  }
}

function versionOf({ headers }: Asked): SoapVersion | undefined {
  const type = headers["content-type"] ?? "";
  if (type.startsWith("text/xml;")) return "1.1";
  return type.startsWith("application/soap+xml;") ? "1.2" : undefined;
}

/** In quotes, as the two specifications write it. */
const actionOf = ({ headers }: Asked, version: SoapVersion): string | undefined =>
  version === "1.1"
    ? /^"(.*)"$/.exec(String(headers["soapaction"]))?.[1]
    : /; action="([^"]*)"/.exec(headers["content-type"] ?? "")?.[1];

function answerRate(version: SoapVersion, body: string): SoapAnswer {
  const currency = /<\w+:currency>([^<]*)</.exec(body)?.[1] ?? "";
  const rate = rates[currency];
  if (rate === undefined) return fault(version, "Client", `No rate of '${currency}' &amp; co.`);
  const result = `<r:GetRateResponse xmlns:r="urn:rates"><r:rate>${rate}</r:rate></r:GetRateResponse>`;
  return answerOf(version, envelope(result, version));
}

const answerOf = (version: SoapVersion, body: string, status = 200): SoapAnswer => ({
  status,
  headers: { "content-type": contentTypes[version] },
  body: `<?xml version="1.0" encoding="utf-8"?>${body}`,
});

const fault = (version: SoapVersion, code: string, reason: string): SoapAnswer =>
  answerOf(version, envelope(faultOf(version, code, reason), version), 500);

/** What SOAP 1.1 calls Client is Sender in 1.2. */
const faultOf = (version: SoapVersion, code: string, reason: string): string =>
  version === "1.1"
    ? `<s:Fault><faultcode>s:${code}</faultcode><faultstring>${reason}</faultstring><detail><e:limit xmlns:e="urn:errors">3</e:limit></detail></s:Fault>`
    : `<s:Fault><s:Code><s:Value>s:${code === "Client" ? "Sender" : code}</s:Value></s:Code><s:Reason><s:Text xml:lang="en">${reason}</s:Text></s:Reason></s:Fault>`;
