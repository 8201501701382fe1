/**
 * The version a component is published with: `MAJOR.MINOR.PATCH-pkg.PKG_VERSION+PKG_NAME`.
 *
 * A version has one `+` only, so build metadata of the parts gives way to the package's name. A
 * version that carries a package suffix already gets the new one in its place.
 */
export interface PackageIdentity {
  version: string;
  /** The domain of the package's configuration, also where the components go to another domain. */
  domain: string;
}

const defaultVersion = "1.0.0";

export function componentVersion(own: string | undefined, from: PackageIdentity): string {
  const base = withoutBuild(own ?? defaultVersion).replace(/-pkg\..*$/, "");
  return `${base}-pkg.${withoutBuild(from.version)}+${from.domain}`;
}

const withoutBuild = (version: string): string => version.replace(/\+.*$/, "");
