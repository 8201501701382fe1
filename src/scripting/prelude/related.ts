import { limits, type RelatedData } from "../contract.ts";
import type { Dynamic } from "./dynamic.ts";
import { RelatedInstanceAccessException } from "./errors.ts";

/** Another instance, one hop away: the parent, or a child that was started by this one. */
export interface RelatedInstanceView {
  readonly InstanceId: string;
  readonly Key: string | null;
  readonly Domain: string;
  readonly Flow: string;
  readonly FlowVersion: string | null;
  /** A, B, C, F or P. */
  readonly Status: string;
  readonly CurrentState: string | null;
  readonly IsCompleted: boolean;
  /** Null for the parent. */
  readonly CorrelationCompleted: boolean | null;
  readonly TerminalOutcome: "Completed" | "Faulted" | "Canceled" | null;
  /** S or P; null for the parent. */
  readonly SubFlowType: string | null;
  readonly Data: Dynamic;
}

export interface RelatedInstances {
  readonly HasParent: boolean;
  SubKeysAsync(): Promise<string[]>;
  ParentAsync(): Promise<RelatedInstanceView | null>;
  /** The newest one of that flow. */
  SubAsync(subFlowKey: string): Promise<RelatedInstanceView | null>;
  /** Oldest first. */
  SubsAsync(subFlowKey?: string): Promise<RelatedInstanceView[]>;
}

/**
 * The accessor over what the host has read beforehand. Asking again for the same costs nothing; the
 * number of different questions is limited, as it is where each is a read.
 */
export function relatedInstances(data: RelatedData | null | undefined): RelatedInstances {
  const asked = new Set<string>();
  const subs = (data?.Subs ?? []) as unknown as readonly RelatedInstanceView[];
  const parent = (data?.Parent ?? null) as RelatedInstanceView | null;

  const read = <Answer>(question: string, answer: Answer): Promise<Answer> => {
    asked.add(question);
    if (data?.Error !== undefined) return refused(data.Error);
    if (asked.size > limits.relatedReads) {
      return refused(`A script may read at most ${limits.relatedReads} related instances.`);
    }
    return Promise.resolve(answer);
  };
  const ofFlow = (key: string) => subs.filter((sub) => sub.Flow === key);

  return {
    HasParent: data?.HasParent ?? parent !== null,
    SubKeysAsync: () => read("keys", [...new Set(subs.map((sub) => sub.Flow))]),
    ParentAsync: () => read("parent", parent),
    SubAsync: (key) => read(`sub ${key}`, ofFlow(key).at(-1) ?? null),
    SubsAsync: (key) =>
      read(`subs ${key ?? ""}`, key === undefined || key === null ? [...subs] : ofFlow(key)),
  };
}

const refused = (message: string): Promise<never> =>
  Promise.reject(new RelatedInstanceAccessException(message));
