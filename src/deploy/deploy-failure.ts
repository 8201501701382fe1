/** Why a package could not be deployed at all: the `error` of a failed job. */

/** One row per code; `docs/deployment.md` has a line for each. */
export const deployFailures = {
  RuntimeUnreachable: "the runtime did not become healthy in time, or went away",
  RegistryUnreachable: "no answer from the registry",
  RegistryUnauthorized: "the registry wants other credentials",
  RegistryFailed: "the registry answered with an error, or with something that is no package data",
  AddressRefused: "the address of the registry or of the archive is one that may not be called",
  PackageNotFound: "the registry does not have the package",
  VersionNotFound: "the package has no such version, tag or range",
  DownloadTooLarge: "the archive, or the package's data, is larger than allowed",
  DownloadTimeout: "the download took too long",
  IntegrityMismatch: "the archive is not the one the registry announced",
  IntegrityMissing: "the registry announces no hash of the archive that may be relied on",
  ArchiveInvalid: "the archive is damaged, or holds what no package may hold",
  PackageInvalid: "the package has no usable configuration file or component folder",
  Interrupted: "the service stopped while the job was under way",
  InternalError: "a fault of the deployment service; its log has the cause",
} as const;

export type DeployFailureCode = keyof typeof deployFailures;

export class DeployFailed extends Error {
  override readonly name = "DeployFailed";
  readonly code: DeployFailureCode;

  constructor(code: DeployFailureCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
