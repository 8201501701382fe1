/** What went wrong, in our words, from what the network and the HTTP library say. */
import { type OutgoingFailure, OutgoingFailed } from "./http-client.ts";

/** `to` is the address as it may be shown. */
export function outgoingFailure(error: unknown, to: string): OutgoingFailed {
  if (error instanceof OutgoingFailed) return error;
  const { reason, says } = meaningOf(firstCause(error));
  return new OutgoingFailed(reason, `${to}: ${says}`, { cause: error });
}

/** Several addresses were tried: the first one's trouble stands for all. */
const firstCause = (error: unknown): Cause =>
  (error instanceof AggregateError ? (error.errors[0] ?? error) : error) as Cause;

interface Cause {
  name?: string;
  message?: string;
  code?: string;
}

interface Meaning {
  reason: OutgoingFailure;
  says: string;
}

function meaningOf({ name, code = "", message = "" }: Cause): Meaning {
  const known = byCode[code];
  if (known !== undefined) return known;
  if (name === "HTTPParserError") {
    return { reason: "badAnswer", says: `The answer is not HTTP (${message}).` };
  }
  if (/^(?:ERR_SSL_|ERR_TLS_|EPROTO$)|CERT/.test(code)) {
    return { reason: "tls", says: `No secure connection (${message}). ${tlsRemedy}` };
  }
  return { reason: "connection", says: `The connection failed (${code || message}).` };
}

const tlsRemedy =
  "Check that the server speaks TLS on this port and that its certificate is trusted here.";
const certificate = (what: string): Meaning => ({
  reason: "tls",
  says: `The server's certificate ${what}. Renew or replace it, or trust its issuer with NODE_EXTRA_CA_CERTS; validateSsl: false takes it unchecked.`,
});
const unknownName: Meaning = {
  reason: "resolution",
  says: "The host name cannot be resolved. Check the name and this machine's DNS.",
};
const cutOff: Meaning = {
  reason: "connection",
  says: "The server closed the connection before its answer was complete.",
};

const byCode: Readonly<Record<string, Meaning>> = {
  ENOTFOUND: unknownName,
  EAI_AGAIN: unknownName,
  EAI_FAIL: unknownName,
  ENODATA: unknownName,
  ECONNREFUSED: {
    reason: "connection",
    says: "Nothing listens there (ECONNREFUSED). Check host and port, and that the server runs.",
  },
  ECONNRESET: cutOff,
  EPIPE: cutOff,
  UND_ERR_SOCKET: cutOff,
  ETIMEDOUT: {
    reason: "connection",
    says: "No connection could be made (ETIMEDOUT). Check that a firewall lets it through.",
  },
  UND_ERR_CONNECT_TIMEOUT: {
    reason: "connection",
    says: "No connection could be made in time. Check that a firewall lets it through.",
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: certificate("is self-signed"),
  SELF_SIGNED_CERT_IN_CHAIN: certificate("comes from an issuer that is not trusted here"),
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: certificate("comes from an issuer that is not trusted here"),
  UNABLE_TO_GET_ISSUER_CERT: certificate("comes from an issuer that is not trusted here"),
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: certificate("comes from an issuer that is not trusted here"),
  CERT_HAS_EXPIRED: certificate("has expired"),
  CERT_NOT_YET_VALID: certificate("is not valid yet"),
  ERR_TLS_CERT_ALTNAME_INVALID: certificate("is for another host name"),
  UND_ERR_HEADERS_OVERFLOW: {
    reason: "tooLarge",
    says: "The answer's headers are larger than 65536 bytes.",
  },
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: {
    reason: "badAnswer",
    says: "The answer is not as long as its Content-Length says.",
  },
  UND_ERR_INVALID_ARG: { reason: "badRequest", says: "The request cannot be sent as HTTP." },
};
