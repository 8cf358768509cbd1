import type { ReportEdgeRequest } from "../../proto/gen/tributary/system/v1/system.ts";

/** The last report of an edge, and when it arrived. */
export interface ReceivedReport {
  readonly report: ReportEdgeRequest;
  readonly seenAt: number;
}

/** An edge that missed twenty reports is gone; the credit it still holds is in its leases. */
const FORGET_MS = 60_000;
/** More edges than any installation has: invented ids must not fill the memory. */
const EDGES_MAX = 4096;

/** The latest report of each edge, in memory. After a restart it is complete again within seconds. */
export class EdgeReports {
  readonly #reports = new Map<string, ReceivedReport>();

  take(report: ReportEdgeRequest, now: number): void {
    this.#forget(now);
    if (this.#reports.size >= EDGES_MAX && !this.#reports.has(report.id)) return;
    this.#reports.set(report.id, { report, seenAt: now });
  }

  /** Recent reports by edge id. */
  recent(now: number): ReadonlyMap<string, ReceivedReport> {
    this.#forget(now);
    return this.#reports;
  }

  #forget(now: number): void {
    for (const [id, { seenAt }] of this.#reports) if (now - seenAt > FORGET_MS) this.#reports.delete(id);
  }
}
