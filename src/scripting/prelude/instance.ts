import type { InstanceData } from "../contract.ts";
import type { Dynamic } from "./dynamic.ts";
import { isObject } from "./json.ts";

/** The instance as it was when the script was called. Changing it changes nothing outside. */
export interface InstanceSnapshot {
  readonly Id: string;
  readonly Key: string | null;
  readonly HasKey: boolean;
  readonly Flow: string;
  readonly FlowVersion: string;
  /** The newest data. */
  readonly Data: Dynamic;
  readonly LatestData: {
    readonly Id: string | null;
    readonly Version: string | null;
    readonly Data: Dynamic;
  } | null;
  readonly CurrentState: string | null;
  readonly CurrentStateType: string | number | null;
  readonly CurrentStateSubType: string | number | null;
  readonly EffectiveState: string | null;
  readonly EffectiveStateType: string | number | null;
  readonly EffectiveStateSubType: string | number | null;
  readonly Stage: string | null;
  /** A active, B busy, C completed, F faulted, P passive. */
  readonly Status: string;
  readonly EffectiveStatus: string;
  /** At rest for good: completed, faulted or passive. */
  readonly IsCompleted: boolean;
  readonly IsBusy: boolean;
  readonly IsActive: boolean;
  readonly IsSubFlow: boolean;
  /** Subflow or subprocess. */
  readonly IsSubItem: boolean;
  readonly HasActiveSubFlow: boolean;
  /** How it was started: R root, S subflow, P subprocess. */
  readonly Type: string;
  readonly Tags: string[];
  /** ISO 8601. */
  readonly CreatedAt: string | null;
  readonly ModifiedAt: string | null;
  readonly CompletedAt: string | null;
  readonly Duration: Dynamic;
  readonly CreatedBy: string | null;
  readonly CreatedByBehalfOf: string | null;
  readonly ModifiedBy: string | null;
  readonly ModifiedByBehalfOf: string | null;
  readonly ExtraProperties: Dynamic;
  readonly HasActiveIncident: boolean;
  readonly ActiveCorrelations: Dynamic[];
  /** The clear text of an encrypted field; null where the path holds none. */
  DecryptAsync(path: string): Promise<string | null>;
}

export function instanceSnapshot(data: InstanceData): InstanceSnapshot {
  const { Decrypted: decrypted = {}, ...stored } = data;
  const type = stored.Type ?? "R";
  const correlations = stored.ActiveCorrelations ?? [];
  const snapshot = {
    CurrentStateType: null,
    CurrentStateSubType: null,
    EffectiveStateType: null,
    EffectiveStateSubType: null,
    Stage: null,
    CreatedAt: null,
    ModifiedAt: null,
    CompletedAt: null,
    Duration: null,
    CreatedBy: null,
    CreatedByBehalfOf: null,
    ModifiedBy: null,
    ModifiedByBehalfOf: null,
    ExtraProperties: {},
    HasActiveIncident: false,
    ...stored,
    Key: stored.Key ?? null,
    Data: stored.Data ?? null,
    CurrentState: stored.CurrentState ?? null,
    EffectiveState: stored.EffectiveState ?? stored.CurrentState ?? null,
    EffectiveStatus: stored.EffectiveStatus ?? stored.Status,
    HasKey: (stored.Key ?? "").trim() !== "",
    LatestData: latest(stored),
    IsCompleted: ["C", "F", "P"].includes(stored.Status),
    IsBusy: stored.Status === "B",
    IsActive: stored.Status === "A",
    Type: type,
    IsSubFlow: type === "S",
    IsSubItem: type === "S" || type === "P",
    HasActiveSubFlow: stored.HasActiveSubFlow ?? correlations.some(isOpenSubFlow),
    Tags: [...(stored.Tags ?? [])],
    ActiveCorrelations: [...correlations],
  };
  // Not enumerable: a script that copies or serialises the snapshot means its data.
  Object.defineProperty(snapshot, "DecryptAsync", {
    value: (path: string) =>
      Promise.resolve(Object.hasOwn(decrypted, path) ? (decrypted[path] ?? null) : null),
  });
  return snapshot as unknown as InstanceSnapshot;
}

const latest = ({ LatestData: known, Data: data }: InstanceData) =>
  known === null || data === undefined || data === null
    ? null
    : { Id: known?.Id ?? null, Version: known?.Version ?? null, Data: data };

const isOpenSubFlow = (correlation: unknown): boolean =>
  isObject(correlation) &&
  correlation["SubFlowType"] === "S" &&
  correlation["IsCompleted"] !== true;
