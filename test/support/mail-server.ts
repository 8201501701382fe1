/**
 * A mail server on the loopback that keeps what it takes. `startMailServer` is for one test,
 * `startMailServerForFile` for all tests of a file.
 */
import type { AddressInfo } from "node:net";
import PostalMime, { type Email } from "postal-mime";
import { SMTPServer } from "smtp-server";
import { afterAll, onTestFinished } from "vitest";
import type { Certificate } from "./a-certificate.ts";

export interface MailServerOptions {
  /** Who may log in; nobody has to without it. */
  login?: { user: string; pass: string };
  /** Recipients that are refused with 550. */
  refuses?: (address: string) => boolean;
  /** Held until it resolves, before the mail is taken. */
  hold?: () => Promise<void>;
  /** Offers STARTTLS with it. */
  tls?: Certificate;
  /** TLS from the first byte. */
  secure?: boolean;
}

export interface ReceivedMail {
  from: string;
  recipients: string[];
  user: string | undefined;
  /** As it came over the wire. */
  raw: string;
  mail: Email;
}

export interface MailServer {
  port: number;
  received: ReceivedMail[];
  /** How many clients were connected at once, at most; one whose mail was taken counts no more. */
  mostClients(): number;
  stop(): Promise<void>;
}

export async function startMailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const server = await start(options);
  onTestFinished(() => server.stop());
  return server;
}

export async function startMailServerForFile(): Promise<MailServer> {
  const server = await start({});
  afterAll(() => server.stop());
  return server;
}

async function start(options: MailServerOptions): Promise<MailServer> {
  const { login, refuses = () => false, hold = () => Promise.resolve() } = options;
  const { tls, secure = false } = options;
  const received: ReceivedMail[] = [];
  const clients = new Set<string>();
  let mostClients = 0;
  const server = new SMTPServer({
    authOptional: login === undefined,
    allowInsecureAuth: true,
    disabledCommands: tls === undefined ? ["STARTTLS"] : [],
    secure,
    ...(tls === undefined ? {} : { key: tls.key, cert: tls.cert }),
    onConnect({ id }, done) {
      clients.add(id);
      mostClients = Math.max(mostClients, clients.size);
      done();
    },
    onClose({ id }) {
      clients.delete(id);
    },
    onAuth({ username, password }, _session, done) {
      if (username === login?.user && password === login?.pass) done(null, { user: username });
      else done(Object.assign(new Error("wrong user or password"), { responseCode: 535 }));
    },
    onRcptTo({ address }, _session, done) {
      if (refuses(address)) done(new Error(`no mailbox ${address}`));
      else done();
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        const raw = Buffer.concat(chunks);
        const keep = async () => {
          await hold();
          received.push({
            from: mailFrom === false ? "" : mailFrom.address,
            recipients: rcptTo.map(({ address }) => address),
            user: session.user as string | undefined,
            raw: raw.toString("utf8"),
            mail: await PostalMime.parse(raw),
          });
          // Its client hears of it next and may be followed by another before its own end is seen here.
          clients.delete(session.id);
        };
        keep().then(() => done(), done);
      });
    },
  });
  // A client that goes away in the middle is what some tests are about.
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  let stopping: Promise<void> | undefined;
  return {
    port: (server.server.address() as AddressInfo).port,
    received,
    mostClients: () => mostClients,
    stop: () =>
      (stopping ??= new Promise((resolve) => {
        server.close(resolve);
      })),
  };
}
