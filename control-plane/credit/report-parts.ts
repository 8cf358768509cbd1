import { slotOf } from "../../common/slots.ts";
import type { UsageRow } from "../domain/records.ts";
import type { SettleOutcome } from "../writes/settle.ts";

/** The leases under which an edge made the calls it reports, and the credit it returns. */
export interface LeaseReport {
  edgeId: string;
  /** By call id. Calls that are missing here were reserved one by one. */
  generations: ReadonlyMap<string, number>;
  returns: readonly { organizationId: string; generation: number; released: bigint }[];
  /** Edges that are dead and whose calls have all been reported. */
  endedEdges: readonly string[];
}

/** What an edge reports at once. */
export interface Report {
  readonly rows: readonly UsageRow[];
  readonly lease: LeaseReport | undefined;
}

/** Settles one part of a report. */
type Settle = (part: Report) => Promise<SettleOutcome>;

/**
 * Settles a report slot by slot, for a store whose transactions write one slot. A report that fails in one slot is rejected as a whole and sent
 * again, which changes nothing in the others. Leases of dead edges end when all calls of the report are settled, never earlier.
 */
export async function settleInParts(report: Report, slots: number, settle: Settle): Promise<SettleOutcome> {
  const outcomes = await Promise.all(partsOf(report, slots).map(settle));
  const { lease } = report;
  if (lease && lease.endedEdges.length > 0) await settle({ rows: [], lease: { ...lease, returns: [] } });
  return {
    settled: outcomes.reduce((sum, { settled }) => sum + settled, 0),
    repeated: outcomes.reduce((sum, { repeated }) => sum + repeated, 0),
    refused: outcomes.flatMap(({ refused }) => refused),
    fresh: outcomes.flatMap(({ fresh }) => fresh),
    stored: outcomes.flatMap(({ stored }) => stored),
  };
}

function partsOf({ rows, lease }: Report, slots: number): Report[] {
  const slotOfItem = ({ organizationId }: { organizationId: string }) => slotOf(organizationId, slots);
  const [calls, returns] = [Map.groupBy(rows, slotOfItem), Map.groupBy(lease?.returns ?? [], slotOfItem)];
  return [...new Set([...calls.keys(), ...returns.keys()])].map((slot) => ({
    rows: calls.get(slot) ?? [],
    lease: lease && { ...lease, returns: returns.get(slot) ?? [], endedEdges: [] },
  }));
}
