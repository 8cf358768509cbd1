import type { ReportEdgeRequest } from "../../proto/gen/tributary/system/v1/system.ts";

export interface HeardEdge {
  readonly report: ReportEdgeRequest;
  readonly seenAt: number;
}

/** Twenty reports missed: such an edge is gone, and what it holds still shows in its leases. */
const FORGET_MS = 60_000;
/** More processes than anybody runs: ids that somebody makes up must not fill the memory. */
const EDGES_MAX = 4096;

/** What edges last told of themselves. In memory: after a start it is whole again within seconds. */
export class EdgeReports {
  readonly #heard = new Map<string, HeardEdge>();

  take(report: ReportEdgeRequest, now: number): void {
    this.#forget(now);
    if (this.#heard.size >= EDGES_MAX && !this.#heard.has(report.id)) return;
    this.#heard.set(report.id, { report, seenAt: now });
  }

  /** By id, those that were heard lately. */
  heard(now: number): ReadonlyMap<string, HeardEdge> {
    this.#forget(now);
    return this.#heard;
  }

  #forget(now: number): void {
    for (const [id, { seenAt }] of this.#heard) if (now - seenAt > FORGET_MS) this.#heard.delete(id);
  }
}
