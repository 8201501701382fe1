/**
 * Whom the sample domain calls: a credit bureau that speaks JSON and a registry of persons that
 * speaks SOAP, on a free port of the loopback. They answer by the first name they are asked for:
 *
 *   Ada      in the registry; the best rating
 *   Grace    in the registry; the bureau is busy twice, then answers
 *   Charles  in the registry; the bureau is always busy
 *   Alan     in the registry; the bureau knows several and wants the year of birth
 *   others   not in the registry; the bureau has a low rating for them
 */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface SamplePartners {
  url: string;
  close(): Promise<void>;
}

interface Person {
  number: string;
  rating: number;
  /** How many times the bureau sends a call away before it answers. */
  busyFor?: number | "ever";
  bornIn?: number;
}

const persons: Readonly<Record<string, Person>> = {
  ada: { number: "P-1815", rating: 1000 },
  grace: { number: "P-1906", rating: 950, busyFor: 2 },
  charles: { number: "P-1791", rating: 800, busyFor: "ever" },
  alan: { number: "P-1912", rating: 960, bornIn: 1912 },
};
const ratingOfStrangers = 600;

/** The first name, as the partners file their persons. */
const personOf = (name: unknown): Person | undefined => {
  const [first = ""] = typeof name === "string" ? name.trim().toLowerCase().split(/\s+/) : [];
  return Object.hasOwn(persons, first) ? persons[first] : undefined;
};

export async function startSamplePartners(): Promise<SamplePartners> {
  const askBureau = createBureau();
  const answer = ({ url = "", headers }: IncomingMessage, body: string): PartnerAnswer => {
    if (url === "/bureau/ratings") return askBureau(body, headers["idempotency-key"]);
    return url === "/identity" ? findPerson(body) : json(404, {});
  };
  const server = createServer((request, response) => {
    void text(request)
      .then((body) => answer(request, body))
      .catch(() => json(400, {}))
      .then(({ status, reason, type, content }) => {
        response.writeHead(status, reason, { "content-type": type }).end(content);
      });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

interface PartnerAnswer {
  status: number;
  /** Stands in the incident, if it comes to that. */
  reason?: string;
  type: string;
  content: string;
}

const json = (status: number, body: object, reason?: string): PartnerAnswer => ({
  status,
  ...(reason === undefined ? {} : { reason }),
  type: "application/json",
  content: JSON.stringify(body),
});

/** Attempts of one call are told by their `Idempotency-Key`, which a retry keeps. */
function createBureau() {
  const attempts = new Map<unknown, number>();
  return (body: string, call: unknown): PartnerAnswer => {
    const { name, birthYear } = JSON.parse(body) as Readonly<Record<string, unknown>>;
    const person = personOf(name);
    const { busyFor = 0 } = person ?? {};
    if (busyFor === "ever") return json(503, {});
    const attempt = (attempts.get(call) ?? 0) + 1;
    if (attempt <= busyFor) {
      attempts.set(call, attempt);
      return json(503, {});
    }
    attempts.delete(call);
    if (person?.bornIn !== undefined && person.bornIn !== birthYear) {
      return json(409, {}, "Several persons have this name, give a birthYear");
    }
    return json(200, { rating: person?.rating ?? ratingOfStrangers });
  };
}

/** SOAP 1.1; somebody who is not in the registry is a fault. */
function findPerson(envelope: string): PartnerAnswer {
  const person = personOf(/<i:name>([^<]*)<\/i:name>/.exec(envelope)?.[1]);
  return person === undefined
    ? soap(
        500,
        "<s:Fault><faultcode>s:Client</faultcode><faultstring>Nobody of this name is registered.</faultstring></s:Fault>",
      )
    : soap(
        200,
        `<i:FindPersonResponse xmlns:i="urn:identity"><i:number>${person.number}</i:number></i:FindPersonResponse>`,
      );
}

const soap = (status: number, content: string): PartnerAnswer => ({
  status,
  type: "text/xml; charset=utf-8",
  content: `<?xml version="1.0" encoding="utf-8"?><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>${content}</s:Body></s:Envelope>`,
});
