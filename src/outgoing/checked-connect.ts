/**
 * How connections are made: to an address that the rules allow, and to no other. The address that was
 * judged is the one that is connected to, so a name that resolves differently a moment later gains
 * nothing.
 */
import type { LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { buildConnector } from "undici";
import { type AddressRules, isAllowedName, refusalOf } from "./address-rules.ts";
import { OutgoingFailed } from "./http-client.ts";
import { parseAddress } from "./ip-address.ts";

export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

export interface ConnectOptions {
  resolve: Resolve;
  /** Undefined: the address is the operator's own choice. */
  rules: AddressRules | undefined;
  validateTls: boolean;
  connectTimeoutMs: number;
  /** Whose certificates are trusted, in place of those this machine trusts. */
  ca?: string | undefined;
}

export function checkedConnect(options: ConnectOptions): buildConnector.connector {
  const { resolve, rules, validateTls, connectTimeoutMs, ca } = options;
  const connect = buildConnector({
    rejectUnauthorized: validateTls,
    timeout: connectTimeoutMs,
    ...(ca === undefined ? {} : { ca }),
    lookup: checkedLookup(resolve, rules),
  });
  return (target, callback) => {
    // An address in the URL is connected to without a lookup.
    const refused = rules === undefined ? undefined : refusedLiteral(rules, target.hostname);
    if (refused === undefined) connect(target, callback);
    else callback(refused, null);
  };
}

function refusedLiteral(rules: AddressRules, hostname: string): OutgoingFailed | undefined {
  const address = hostname.replace(/^\[(.*)\]$/, "$1");
  if (parseAddress(address) === undefined) return undefined;
  const kind = refusalOf(rules, address);
  return kind === undefined ? undefined : refused(`${address} is a ${kind} address`);
}

const checkedLookup =
  (resolve: Resolve, rules: AddressRules | undefined): LookupFunction =>
  (hostname, { all, family }, callback) => {
    resolve(hostname)
      .then((found) => usable(rules, hostname, found, family))
      .then(
        (addresses) => {
          if (all === true) return callback(null, [...addresses]);
          const [first] = addresses;
          return callback(null, first!.address, first!.family);
        },
        (error: Error) => callback(error, []),
      );
  };

/** At least one address, or the reason why there is none. */
function usable(
  rules: AddressRules | undefined,
  hostname: string,
  found: readonly LookupAddress[],
  wanted: number | string | undefined,
): readonly LookupAddress[] {
  const family = wanted === 4 || wanted === 6 ? wanted : undefined;
  const fitting = found.filter((each) => family === undefined || each.family === family);
  const [first] = fitting;
  if (first === undefined) {
    throw new OutgoingFailed(
      "resolution",
      `The host name '${hostname}' has no address. Check the name and this machine's DNS.`,
    );
  }
  if (rules === undefined || isAllowedName(rules, hostname)) return fitting;
  const allowed = fitting.filter(({ address }) => refusalOf(rules, address) === undefined);
  if (allowed.length > 0) return allowed;
  const kind = refusalOf(rules, first.address);
  throw refused(`'${hostname}' resolves to ${first.address}, which is a ${kind} address`);
}

const refused = (what: string) =>
  new OutgoingFailed(
    "refused",
    `${what}. Only public addresses may be called; allow this one with the setting Egress.Allow.`,
  );
