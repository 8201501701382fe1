/**
 * Which addresses may be called. By default only those of the public internet: what is inside (this
 * machine, its network, the cloud's metadata service) trusts whoever comes from inside, and a
 * definition's address may come from anybody.
 *
 * Judged is the address a connection is made to, after resolution. A name counts only where the
 * operator has allowed that name (`Egress.Allow`).
 */
import {
  type AddressBytes,
  type AddressRange,
  parseAddress,
  parseRange,
  rangeHolds,
} from "./ip-address.ts";

/** `Egress.Allow`, read. */
export interface AddressRules {
  readonly allowedKinds: ReadonlySet<string>;
  readonly allowedRanges: readonly AddressRange[];
  /** Lower case; `.internal` stands for every name below it. */
  readonly allowedNames: readonly string[];
}

const kindWords = new Set(["loopback", "private"]);

/** What is neither a word nor a range is a name; the configuration has refused everything else. */
export function readAddressRules(allow: readonly string[]): AddressRules {
  const allowedKinds = new Set<string>();
  const allowedRanges: AddressRange[] = [];
  const allowedNames: string[] = [];
  for (const item of allow) {
    const word = item.toLowerCase();
    const range = parseRange(word);
    if (kindWords.has(word)) allowedKinds.add(word);
    else if (range !== undefined) allowedRanges.push(unwrapped(range));
    else allowedNames.push(word.replace(/^\*/, "").replace(/\.$/, ""));
  }
  return { allowedKinds, allowedRanges, allowedNames };
}

export function isAllowedName(rules: AddressRules, hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/\.$/, "");
  return rules.allowedNames.some((allowed) =>
    allowed.startsWith(".") ? name.endsWith(allowed) : name === allowed,
  );
}

/** Why the address may not be called: the word for its range. Undefined when it may. */
export function refusalOf(rules: AddressRules, address: string): string | undefined {
  const bytes = parseAddress(address);
  if (bytes === undefined) return "not an IP";
  const judged = unwrap(bytes);
  if (rules.allowedRanges.some((range) => rangeHolds(range, judged))) return undefined;
  const kind = kindOf(judged);
  return kind === undefined || rules.allowedKinds.has(kind) ? undefined : kind;
}

/** IPv4 in the clothes of IPv6 is judged as IPv4: mapped (`::ffff:a.b.c.d`), or behind a NAT64. */
const clothes = ["::ffff:0:0/96", "64:ff9b::/96"].map((text) => parseRange(text)!);

const unwrap = (bytes: AddressBytes): AddressBytes =>
  clothes.some((range) => rangeHolds(range, bytes)) ? bytes.slice(12) : bytes;

const unwrapped = (range: AddressRange): AddressRange => {
  const bytes = unwrap(range.bytes);
  return bytes === range.bytes || range.bits < 96 ? range : { bytes, bits: range.bits - 96 };
};

const kindOf = (address: AddressBytes): string | undefined =>
  kinds.find(({ range }) => rangeHolds(range, address))?.kind ??
  (address.length === 4 || rangeHolds(globalUnicast, address) ? undefined : "reserved");

/** All that IPv6 has given out so far; everything else is refused without being listed. */
const globalUnicast = parseRange("2000::/3")!;

/** The registries of special-purpose addresses (RFC 6890 and after); the first that fits counts. */
const kinds: readonly { range: AddressRange; kind: string }[] = Object.entries({
  // Services of cloud hosts that hand out credentials; `private` does not open them.
  metadata: [
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
  ],
  unspecified: ["0.0.0.0/8", "::/128"],
  loopback: ["127.0.0.0/8", "::1/128"],
  private: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
  "carrier-grade NAT": ["100.64.0.0/10"],
  "link-local": ["169.254.0.0/16", "fe80::/10"],
  "site-local": ["fec0::/10"],
  multicast: ["224.0.0.0/4", "ff00::/8"],
  broadcast: ["255.255.255.255/32"],
  documentation: [
    "192.0.2.0/24",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "2001:db8::/32",
    "3fff::/20",
  ],
  benchmarking: ["198.18.0.0/15"],
  // Teredo and 6to4 carry an IPv4 address that would go out unjudged at the tunnel's other end.
  tunnel: ["2001::/32", "2002::/16", "192.88.99.0/24"],
  reserved: ["192.0.0.0/24", "240.0.0.0/4", "2001::/23"],
}).flatMap(([kind, ranges]) => ranges.map((text) => ({ kind, range: parseRange(text)! })));
