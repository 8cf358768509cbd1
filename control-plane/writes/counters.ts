import { slotOf } from "../../common/slots.ts";
import type { Transaction } from "../stores/store.ts";

/** The next number of a gapless series; a rolled-back transaction does not use its number. */
export async function nextNumber(tx: Transaction, series: "users"): Promise<number> {
  return increment(tx, series);
}

/** The number of a team's next record: rising in the team. Teams share no counter, so their transactions run in parallel. */
export async function nextRecordNumber(tx: Transaction, teamId: string): Promise<number> {
  return increment(tx, `records/${teamId}`, "records");
}

/** A new generation of a lease: rising in the slot of its organization. */
export async function nextLeaseNumber(tx: Transaction, organizationId: string): Promise<number> {
  return increment(tx, `leases/${slotOf(organizationId, tx.slots)}`, "leases");
}

/** Reads at once what `nextLeaseNumber` needs for many organizations. */
export async function readLeaseNumbers(tx: Transaction, organizationIds: readonly string[]): Promise<void> {
  const slots = new Set(organizationIds.map((id) => slotOf(id, tx.slots)));
  await tx.getMany(
    "counters",
    [...slots].map((slot) => `leases/${slot}`),
  );
}

/** The number of an organization's next notice: rising in its slot, and never one of another slot. */
export async function nextNoticeNumber(tx: Transaction, organizationId: string): Promise<number> {
  const slot = slotOf(organizationId, tx.slots);
  const count = await increment(tx, `notices/${slot}`);
  return (await sharedBefore(tx, "notices")) + (count - 1) * tx.slots + slot + 1;
}

/**
 * Makes the numbers that a store of one slot has given the beginning of every slot's, for records that are copied into a store of many. Changes
 * nothing if there are none.
 */
export async function divideCounters(tx: Transaction): Promise<void> {
  for (const [series, last] of [
    ["leases", (_shared: number, own: number) => own],
    ["notices", (shared: number, own: number) => shared + own],
  ] as const) {
    const own = await tx.get("counters", `${series}/0`);
    if (!own) continue;
    await tx.put("counters", { id: series, value: last(await sharedBefore(tx, series), own.value) });
    await tx.remove("counters", own.id);
  }
}

/** The last number of a series from before it was divided. Nothing writes that counter any more. */
async function sharedBefore(tx: Transaction, series: string): Promise<number> {
  return (await tx.get("counters", series))?.value ?? 0;
}

/** A counter that does not exist yet goes on after the series from before it was divided, if it was. */
async function increment(tx: Transaction, id: string, before?: string): Promise<number> {
  const known = (await tx.get("counters", id))?.value;
  const value = (known ?? (before === undefined ? 0 : await sharedBefore(tx, before))) + 1;
  await tx.put("counters", { id, value });
  return value;
}
