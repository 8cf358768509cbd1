import type { LedgerEntry } from "../domain/records.ts";
import type { UsageArchive } from "../domain/usage-archive.ts";
import { checkLedger } from "../services/ledger/verify.ts";
import type { Store } from "../stores/store.ts";
import { ArchivedCalls } from "./archived-calls.ts";
import { DAY, plant, QUARTER, withLedger } from "./ledger-fixture.ts";

const never = new AbortController().signal;

const seqOf = async (store: Store, callId: string): Promise<number> => (await store.get("usage", callId))?.ledgerSeq ?? 0;

const archiveCalls = (store: Store, changes: Partial<UsageArchive>) =>
  store.transaction("every", (tx) =>
    tx.put("usageArchives", { id: "org_1", organizationId: "org_1", before: DAY + QUARTER, rows: 1, charged: 1, cost: 10n, ...changes }),
  );

/** Whether a check since a checkpoint that begins now finds no fault if these entries have no row, and which of them it admits. */
async function checkOf(
  store: Store,
  seqs: readonly number[],
  meanwhile?: () => Promise<unknown>,
): Promise<{ admitted: number[]; ok: boolean }> {
  const archived = await ArchivedCalls.begin(store, { hasAllEntries: false });
  await meanwhile?.();
  const admitted: number[] = [];
  for (const seq of seqs) if (await archived.admits((await store.get("ledger", seq)) as LedgerEntry)) admitted.push(seq);
  return { admitted, ok: (await archived.end()) === undefined };
}

test("a check since a checkpoint admits entries up to the last archived one, and none of those that came after it", () =>
  withLedger(async (store) => {
    const [first, second] = [await seqOf(store, "call_1"), await seqOf(store, "call_2")];
    await archiveCalls(store, { lastSeq: first, cost: 1_000n });
    expect(await checkOf(store, [first])).toEqual({ admitted: [first], ok: true });
    expect(await checkOf(store, [second])).toEqual({ admitted: [], ok: true });
  }));

test("a row that is archived during the check is admitted, also beyond the last one at its begin", () =>
  withLedger(async (store) => {
    const [first, second] = [await seqOf(store, "call_1"), await seqOf(store, "call_2")];
    await archiveCalls(store, { lastSeq: first });
    const meanwhile = () => archiveCalls(store, { lastSeq: second, charged: 2, cost: 30n });
    expect(await checkOf(store, [first, second], meanwhile)).toEqual({ admitted: [first, second], ok: true });
  }));

test("a record of an earlier release, without the last entry, admits any entry up to what it counts", () =>
  withLedger(async (store) => {
    const second = await seqOf(store, "call_2");
    await archiveCalls(store, { cost: 20n });
    expect(await checkOf(store, [second])).toEqual({ admitted: [second], ok: true });
    await archiveCalls(store, { cost: 19n });
    expect(await checkOf(store, [second])).toEqual({ admitted: [second], ok: false });
  }));

test("the verification names the entry whose call is missing although it was never archived", () =>
  withLedger(async (store) => {
    await archiveCalls(store, { lastSeq: await seqOf(store, "call_1") });
    const seq = await seqOf(store, "call_2");
    await plant(store, "usage", "call_1", "removed");
    expect(await checkLedger(store, never)).toMatchObject({ ok: true });
    await plant(store, "usage", "call_2", "removed");
    const { ok, firstBad } = await checkLedger(store, never);
    expect([ok, firstBad]).toMatchObject([false, { kind: "usage", seq: BigInt(seq), record: `entry ${seq}` }]);
  }));
