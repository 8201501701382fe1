/**
 * Why a database that could be reached will still never do: the person who set DATABASE_URL has to
 * change something, and waiting would only hide it. The server's own words name the role, the
 * database or the schema; they hold no password.
 */
import { StartRefusal } from "../../engine/start-refusal.ts";

interface Row {
  when: (error: ErrorWithCode) => boolean;
  says: (words: string) => string;
}
type ErrorWithCode = Error & { code?: string; syscall?: string };

const state =
  (...states: string[]) =>
  ({ code }: ErrorWithCode) =>
    code !== undefined && states.includes(code);

const rows: readonly Row[] = [
  {
    when: state("28P01", "28000"),
    says: (words) =>
      `The database refuses the login of DATABASE_URL (${words}). Correct the user or the password there, or what the server's pg_hba.conf allows.`,
  },
  {
    when: ({ message }) => /client password must be/.test(message),
    says: () =>
      "The database asks for a password, and DATABASE_URL has none. Write it as postgres://user:password@host/database.",
  },
  {
    when: state("3D000"),
    says: (words) =>
      `The database that DATABASE_URL names is missing (${words}). Create it with createdb, or correct the name.`,
  },
  {
    // 3F000: no schema of the search path may even be used.
    when: state("42501", "3F000"),
    says: (words) =>
      `The role of DATABASE_URL lacks a right (${words}). Grant it usage and create on the schema, or run 'millrace migrate' once with the DATABASE_URL of the owner and grant this role the tables and sequences.`,
  },
  {
    when: state("25006"),
    says: (words) =>
      `The database of DATABASE_URL may only be read (${words}). Point DATABASE_URL to the primary server, not to a standby.`,
  },
  {
    when: ({ code = "", message }) =>
      /SSL connection/.test(message) || /^(ERR_TLS_|ERR_SSL_|CERT_)|_CERT|_SIGNATURE$/.test(code),
    says: (words) =>
      `The encrypted connection that DATABASE_URL asks for cannot be made (${words}). Check its sslmode and sslrootcert, and the server's certificate.`,
  },
  {
    // Reading the text itself: not an address, or it names a certificate file that cannot be read.
    when: ({ code, syscall, name }) =>
      code === "ERR_INVALID_URL" || name === "URIError" || syscall === "open",
    says: (words) =>
      `DATABASE_URL cannot be used (${words}). Write it as postgres://user:password@host:5432/database, special characters percent-encoded.`,
  },
];

/** Undefined when the error is of another kind: a passing one, or ours. */
export function connectionRefusal(error: unknown): StartRefusal | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const found = at as ErrorWithCode;
    const row = rows.find(({ when }) => when(found));
    if (row !== undefined) return new StartRefusal(row.says(found.message), { cause: error });
  }
  return undefined;
}
