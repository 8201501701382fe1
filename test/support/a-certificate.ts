/** Certificates for tests of TLS, made on the spot: none that could expire between two runs. */
import { generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto";

export interface Certificate {
  key: string;
  cert: string;
}

export interface Authority extends Certificate {
  signer: KeyObject;
  subject: string;
}

export interface CertificateOptions {
  /** Self-signed without one. */
  issuer?: Authority;
  isAuthority?: boolean;
  /** Names and IPv4 addresses it is good for; 127.0.0.1 and localhost unless given. */
  hosts?: readonly string[];
  notBefore?: Date;
  notAfter?: Date;
}

const day = 86_400_000;

export function aCertificate(options: CertificateOptions = {}): Authority {
  const { issuer, isAuthority = false, hosts = ["127.0.0.1", "localhost"] } = options;
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const now = Date.now();
  const { notBefore = new Date(now - day), notAfter = new Date(now + day) } = options;
  // Two issuers of one name would be taken for each other.
  const subject = `Test ${randomBytes(8).toString("hex")}`;
  const body = sequence(
    tagged(0xa0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(1), randomBytes(8)])),
    signatureKind,
    name(issuer?.subject ?? subject),
    sequence(time(notBefore), time(notAfter)),
    name(subject),
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(isAuthority ? authority : subjectNames(hosts))),
  );
  const signature = sign("sha256", body, issuer?.signer ?? privateKey);
  const der = sequence(body, signatureKind, tagged(0x03, Buffer.of(0), signature));
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${der.toString("base64")}\n-----END CERTIFICATE-----\n`,
    signer: privateKey,
    subject,
  };
}

// DER, as much of it as a certificate needs.

function tagged(tag: number, ...content: Uint8Array[]): Buffer {
  const bytes = Buffer.concat(content);
  const { length } = bytes;
  const size =
    length < 128
      ? [length]
      : length < 256
        ? [0x81, length]
        : [0x82, Math.floor(length / 256), length % 256];
  return Buffer.concat([Buffer.of(tag, ...size), bytes]);
}

const sequence = (...content: Uint8Array[]) => tagged(0x30, ...content);
const integer = (bytes: Uint8Array) => tagged(0x02, bytes);
const objectId = (hex: string) => tagged(0x06, Buffer.from(hex, "hex"));

/** ecdsa-with-SHA256 */
const signatureKind = sequence(objectId("2a8648ce3d040302"));

const name = (text: string) =>
  sequence(tagged(0x31, sequence(objectId("550403"), tagged(0x0c, Buffer.from(text)))));

const time = (at: Date) =>
  tagged(0x18, Buffer.from(`${at.toISOString().replaceAll(/[-:T]/g, "").slice(0, 14)}Z`));

/** basicConstraints: CA */
const authority = sequence(
  objectId("551d13"),
  tagged(0x04, sequence(tagged(0x01, Buffer.of(0xff)))),
);

const subjectNames = (hosts: readonly string[]) =>
  sequence(
    objectId("551d11"),
    tagged(
      0x04,
      sequence(
        ...hosts.map((host) =>
          /^[\d.]+$/.test(host)
            ? tagged(0x87, Buffer.from(host.split(".").map(Number)))
            : tagged(0x82, Buffer.from(host)),
        ),
      ),
    ),
  );
