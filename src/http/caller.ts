/**
 * Who calls, in the sense of the domain. A gateway authenticates and passes identity on as plain
 * headers, so those are worth exactly as much as the peer that sends them: they are believed from
 * trusted peers only. From anybody else they are dropped, also from what scripts get to see. Where
 * tokens are required (`require-token.ts`) a token says it all, and such headers are dropped, but for
 * the peers that need none.
 *
 * `act_sub` acts (`createdBy`), `sub` is the person it is done for (`createdByBehalfOf`).
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { IncomingHttpHeaders } from "node:http";
import { BlockList, isIP, type Socket } from "node:net";
import { identityHeaders, isPeerHeader, peerHeaders, rolesIn } from "../engine/identity-headers.ts";
import { isUuid } from "../engine/uuid.ts";
import type { TokenIdentity } from "./token-identity.ts";

export interface Caller {
  actor: string | undefined;
  behalfOf: string | undefined;
  roles: readonly string[];
  /** All request headers, lower-case names, first value; without identity when the peer is not trusted. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether it may say who it is: in headers, and so in the parameter `Role`. */
  readonly namesItself: boolean;
  /** Of a runtime that asks because one of its tasks does; see `peerHeaders`. */
  readonly triggerDepth: number;
  readonly instanceId: string | undefined;
}

declare module "fastify" {
  interface FastifyRequest {
    readonly caller: Caller;
  }
}

const namedRanges: Record<string, readonly string[]> = {
  loopback: ["127.0.0.0/8", "::1/128"],
  private: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
};

export const defaultTrustedPeers: readonly string[] = Object.keys(namedRanges);

export interface CallerOptions {
  trustedPeers?: readonly string[] | undefined;
  /** Identity comes from tokens, but for these peers. Absent: it comes from headers. */
  peersWithoutToken?: readonly string[] | undefined;
}

/** Gives every request a `caller`, worked out when first asked for. */
export function addCaller(
  app: FastifyInstance,
  { trustedPeers = defaultTrustedPeers, peersWithoutToken }: CallerOptions,
): void {
  const isTrusted = createPeerCheck(trustedPeers);
  const needsNoToken = createPeerCheck(peersWithoutToken ?? []);
  const read = ({ raw: { headers, socket }, raw }: FastifyRequest): Caller => {
    if (peersWithoutToken === undefined) return callerOf(headers, isTrusted(socket));
    const identity = tokenIdentities.get(raw);
    return identity === undefined && needsNoToken(socket)
      ? callerOf(headers, true)
      : callerByToken(headers, isTrusted(socket), identity ?? nobody);
  };
  const callers = new WeakMap<object, Caller>();
  app.decorateRequest("caller", {
    getter(this: FastifyRequest) {
      const known = callers.get(this.raw);
      if (known !== undefined) return known;
      const caller = read(this);
      callers.set(this.raw, caller);
      return caller;
    },
  });
}

const tokenIdentities = new WeakMap<object, TokenIdentity>();
const nobody: TokenIdentity = { actor: undefined, behalfOf: undefined, roles: [], headers: {} };

/** What the token of the request says, before anybody asks for the caller. */
export function setTokenIdentity({ raw }: FastifyRequest, identity: TokenIdentity): void {
  tokenIdentities.set(raw, identity);
}

export function callerOf(given: IncomingHttpHeaders, trusted: boolean): Caller {
  const actor = believed(given, trusted, "act_sub");
  const behalfOf = believed(given, trusted, "sub");
  const roles = rolesIn(believed(given, trusted, "role"));
  return new RequestCaller({ actor, behalfOf, roles, headers: undefined }, given, trusted);
}

function callerByToken(
  given: IncomingHttpHeaders,
  trusted: boolean,
  identity: TokenIdentity,
): Caller {
  return new RequestCaller(identity, given, trusted);
}

/** A class, so that what is made on demand costs nothing before: most requests need none of it. */
class RequestCaller implements Caller {
  readonly actor: string | undefined;
  readonly behalfOf: string | undefined;
  readonly roles: readonly string[];
  readonly namesItself: boolean;
  readonly #given: IncomingHttpHeaders;
  readonly #trusted: boolean;
  /** Of a token: these count instead of what a peer says. */
  readonly #identityHeaders: Readonly<Record<string, string>> | undefined;
  #headers: Record<string, string> | undefined;

  constructor(
    { actor, behalfOf, roles, headers }: Identity,
    given: IncomingHttpHeaders,
    trusted: boolean,
  ) {
    this.actor = actor;
    this.behalfOf = behalfOf;
    this.roles = roles;
    this.namesItself = headers === undefined && trusted;
    this.#given = given;
    this.#trusted = trusted;
    this.#identityHeaders = headers;
  }

  get triggerDepth(): number {
    return depthIn(believed(this.#given, this.#trusted, peerHeaders.triggerDepth));
  }

  get instanceId(): string | undefined {
    return idIn(believed(this.#given, this.#trusted, peerHeaders.instanceId));
  }

  get headers(): Readonly<Record<string, string>> {
    return (this.#headers ??= Object.assign(
      headersOf(this.#given, this.namesItself),
      this.#identityHeaders,
    ));
  }
}

type Identity = Pick<Caller, "actor" | "behalfOf" | "roles"> & {
  headers: TokenIdentity["headers"] | undefined;
};

const believed = (given: IncomingHttpHeaders, trusted: boolean, name: string) =>
  trusted ? firstOf(given[name])?.trim() || undefined : undefined;

const depthIn = (text = "") => (/^\d{1,4}$/.test(text) ? Number(text) : 0);

const idIn = (text: string | undefined) =>
  text !== undefined && isUuid(text) ? text.toLowerCase() : undefined;

/** The parameter `Role` of a function counts when the caller may say who it is, and has not. */
export const withRoleParameter = (caller: Caller, role: string | undefined): readonly string[] =>
  caller.namesItself && caller.roles.length === 0 ? rolesIn(role) : caller.roles;

function headersOf(given: IncomingHttpHeaders, trusted: boolean): Record<string, string> {
  const headers = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(given)) {
    const first = firstOf(value);
    if (first === undefined || isPeerHeader(name)) continue;
    if (trusted || !identityHeaders.has(name)) headers[name] = first;
  }
  return headers;
}

const firstOf = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value);

/** Whether a peer is trusted, remembered per connection: its address never changes. */
export function createPeerCheck(peers: readonly string[]): (socket: Socket) => boolean {
  const list = toBlockList(peers);
  const known = new WeakMap<Socket, boolean>();
  return (socket) => {
    const before = known.get(socket);
    if (before !== undefined) return before;
    const trusted = isListed(list, socket.remoteAddress);
    known.set(socket, trusted);
    return trusted;
  };
}

/** An address that is not there (the peer has gone) is not trusted. */
function isListed(list: BlockList, address: string | undefined): boolean {
  if (address === undefined) return false;
  // A dual-stack socket shows IPv4 peers as ::ffff:a.b.c.d.
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
  const family = isIP(plain);
  return family !== 0 && list.check(plain, family === 4 ? "ipv4" : "ipv6");
}

function toBlockList(peers: readonly string[]): BlockList {
  const list = new BlockList();
  for (const peer of peers.flatMap((name) => namedRanges[name.toLowerCase()] ?? [name])) {
    const [address = "", bits] = peer.split("/");
    const family = isIP(address);
    const width = family === 4 ? 32 : 128;
    const prefix = bits === undefined ? width : /^\d+$/.test(bits) ? Number(bits) : Number.NaN;
    if (family === 0 || !Number.isInteger(prefix) || prefix < 0 || prefix > width) {
      throw new TypeError(
        `'${peer}' is not an address, a CIDR range, or one of: ${defaultTrustedPeers.join(", ")}`,
      );
    }
    list.addSubnet(address, prefix, family === 4 ? "ipv4" : "ipv6");
  }
  return list;
}
