/** How callers prove who they are, from the configuration. Said at start and by `millrace doctor`. */
import { isIP } from "node:net";
import type { Config } from "../config.ts";
import { StartRefusal } from "../engine/start-refusal.ts";
import type { TokenRules } from "./check-token.ts";

export type IdentityMode =
  | { readonly mode: "headers"; readonly trustedPeers: readonly string[] }
  | {
      readonly mode: "jwt";
      readonly allowAnonymous: boolean;
      readonly peersWithout: readonly string[];
      readonly keys: { readonly url: string } | { readonly file: string };
      readonly rules: TokenRules;
    }
  | { readonly mode: "none" };

/** Throws a `StartRefusal` for a mode that lacks something, and for an open door on a public address. */
export function identityMode(config: Config): IdentityMode {
  const host = config["Server.Host"];
  switch (config["Auth.Mode"]) {
    case "jwt":
      return tokenMode(config);
    case "none":
      if (isLoopback(host) || config["Auth.AllowAnonymous"]) return { mode: "none" };
      throw new StartRefusal(
        `Auth.Mode is none and '${host}' (MILLRACE_HOST) is an address that others can reach: everybody could do everything. Listen on loopback, or set Auth.AllowAnonymous=true to want it so.`,
      );
    case "auto":
      if (isLoopback(host)) break;
      throw new StartRefusal(
        `'${host}' (MILLRACE_HOST) is an address that others can reach, and nothing says how callers prove who they are. Set Auth.Mode=jwt with Auth.Jwt.JwksUrl, Auth.Jwt.Issuer and Auth.Jwt.Audience; or Auth.Mode=headers when a gateway in Http.TrustedPeers does it; or Auth.Mode=none with Auth.AllowAnonymous=true to let everybody in.`,
      );
    case "headers":
  }
  return { mode: "headers", trustedPeers: config["Http.TrustedPeers"] };
}

function tokenMode(config: Config): IdentityMode {
  const url = config["Auth.Jwt.JwksUrl"];
  const file = config["Auth.Jwt.JwksFile"];
  const missing = [
    ...(url === "" && file === "" ? ["Auth.Jwt.JwksUrl (or Auth.Jwt.JwksFile)"] : []),
    ...(config["Auth.Jwt.Issuer"] === "" ? ["Auth.Jwt.Issuer"] : []),
    ...(config["Auth.Jwt.Audience"].length === 0 ? ["Auth.Jwt.Audience"] : []),
    ...(config["Auth.Jwt.Algorithms"].length === 0 ? ["Auth.Jwt.Algorithms"] : []),
  ];
  if (missing.length > 0) {
    throw new StartRefusal(
      `Auth.Mode is jwt and ${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} not set. A token is only worth something when all of them are.`,
    );
  }
  if (url !== "" && file !== "") {
    throw new StartRefusal(
      "Auth.Jwt.JwksUrl and Auth.Jwt.JwksFile are both set. Set the one that has the keys.",
    );
  }
  return {
    mode: "jwt",
    allowAnonymous: config["Auth.AllowAnonymous"],
    peersWithout: config["Auth.Jwt.PeersWithoutToken"],
    keys: url === "" ? { file } : { url },
    rules: {
      issuer: config["Auth.Jwt.Issuer"],
      audience: config["Auth.Jwt.Audience"],
      algorithms: config["Auth.Jwt.Algorithms"],
      clockToleranceSeconds: config["Auth.Jwt.ClockToleranceSeconds"],
      maxBytes: config["Auth.Jwt.MaxTokenBytes"],
      rolesClaims: config["Auth.Jwt.RolesClaim"],
    },
  };
}

/** Empty is the default: loopback. A name may mean any address, so only this one is known. */
const isLoopback = (host: string): boolean =>
  host === "" ||
  host.toLowerCase() === "localhost" ||
  host === "::1" ||
  (isIP(host) === 4 && host.startsWith("127."));

export function describeIdentity(identity: IdentityMode): string {
  switch (identity.mode) {
    case "headers": {
      const peers = identity.trustedPeers.join(", ") || "nobody";
      return `identity headers, believed from ${peers}`;
    }
    case "jwt": {
      const { rules, allowAnonymous, peersWithout } = identity;
      const believed =
        peersWithout.length === 0 ? "" : `; identity headers from ${peersWithout.join(", ")}`;
      const without = allowAnonymous ? "; without one as nobody" : "";
      return `bearer tokens of ${rules.issuer} for ${rules.audience.join(", ")}${believed}${without}`;
    }
    case "none":
      return "none: everybody is nobody";
  }
}
