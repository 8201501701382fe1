/** IP addresses as bytes: 4 of IPv4, 16 of IPv6. */
import { isIP } from "node:net";

export type AddressBytes = readonly number[];

export interface AddressRange {
  readonly bytes: AddressBytes;
  readonly bits: number;
}

/** Undefined for what is no address. A zone (`%eth0`) says which way, not where: it is dropped. */
export function parseAddress(text: string): AddressBytes | undefined {
  const address = text.replace(/%.*$/s, "");
  const family = isIP(address);
  if (family === 0) return undefined;
  return family === 4 ? bytesOfV4(address) : bytesOfV6(address);
}

/** `10.0.0.0/8`, or an address alone. Undefined for what is neither. */
export function parseRange(text: string): AddressRange | undefined {
  const [, address = "", length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const bytes = parseAddress(address);
  if (bytes === undefined) return undefined;
  const most = bytes.length * 8;
  const bits = Number(length ?? most);
  return bits > most ? undefined : { bytes, bits };
}

export const rangeHolds = ({ bytes, bits }: AddressRange, address: AddressBytes): boolean =>
  bytes.length === address.length &&
  address.every((byte, i) => {
    const counted = Math.min(8, Math.max(0, bits - i * 8));
    const mask = (0xff << (8 - counted)) & 0xff;
    return (byte & mask) === (bytes[i]! & mask);
  });

const bytesOfV4 = (address: string): AddressBytes => address.split(".").map(Number);

/** `::ffff:10.0.0.1` ends in an IPv4 address, which is two groups. */
function bytesOfV6(address: string): AddressBytes {
  const hexadecimal = address.replace(/[\d.]+$/, (tail) =>
    tail.includes(".") ? groupsOfV4(tail) : tail,
  );
  const [head = "", tail] = hexadecimal.split("::");
  const before = groupsIn(head);
  const after = tail === undefined ? [] : groupsIn(tail);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...zeros, ...after].flatMap((group) => [group >> 8, group & 0xff]);
}

function groupsOfV4(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = bytesOfV4(address);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

const groupsIn = (text: string): number[] =>
  text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
