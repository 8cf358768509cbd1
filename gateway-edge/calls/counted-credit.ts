import type { Credit } from "../credit/credit.ts";
import type { CallCounts } from "./call-counts.ts";
import type { Contents } from "./content/contents.ts";
import type { Tracing } from "./tracing/tracing.ts";

/** Credit that counts and traces how calls end. */
export interface CountedCredit extends Credit {
  /** Whether this call ended lately with an error that its row tells. */
  hasFailed(callId: string): boolean;
}

const FAILED_KEPT = 1000;

export interface CountedDeps {
  readonly counts: Pick<CallCounts, "count">;
  readonly contents?: Pick<Contents, "settling"> | undefined;
  readonly tracing?: Tracing | undefined;
}

export function counted(credit: Credit, { counts, contents, tracing }: CountedDeps): CountedCredit {
  const failed = new Set<string>();
  const fail = (callId: string) => {
    failed.add(callId);
    for (const oldest of failed.size > FAILED_KEPT ? failed : []) return void failed.delete(oldest);
  };
  return {
    reserve: (input) => credit.reserve(input),
    settle: (log) => {
      counts.count(log);
      if (log.status === "error") fail(log.callId);
      const content = contents?.settling(log);
      tracing?.settling(log, content);
      return credit.settle(log);
    },
    grow: (input, more) => credit.grow(input, more),
    served: (served) => credit.served(served),
    progress: (progress) => credit.progress(progress),
    recall: (organizationId) => credit.recall(organizationId),
    pending: () => credit.pending(),
    settled: (organizationId) => credit.settled(organizationId),
    trouble: () => credit.trouble(),
    journal: () => credit.journal(),
    leases: () => credit.leases(),
    close: () => credit.close(),
    hasFailed: (callId) => failed.has(callId),
  };
}
