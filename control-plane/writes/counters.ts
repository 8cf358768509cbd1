import type { Transaction } from "../stores/store.ts";

/** The next number of a gapless series; a rolled-back transaction does not use its number. */
export async function nextNumber(tx: Transaction, series: "users" | "feed" | "records" | "leases" | "notices"): Promise<number> {
  const value = ((await tx.get("counters", series))?.value ?? 0) + 1;
  await tx.put("counters", { id: series, value });
  return value;
}
