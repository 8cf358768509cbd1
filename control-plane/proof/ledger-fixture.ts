import { organizationAccount } from "../domain/ledger.ts";
import type { UsageRow } from "../domain/records.ts";
import { usageContentHash } from "../domain/settlement.ts";
import type { CollectionName, Records } from "../stores/collections.ts";
import { collect } from "../stores/page.ts";
import type { Store } from "../stores/store.ts";
import { openTestStore } from "../stores/test-store.ts";
import { post } from "../writes/ledger.ts";
import { settleCalls } from "../writes/settle.ts";

export const QUARTER = 15 * 60_000;
/** Midnight of a day. */
export const DAY = Date.UTC(2026, 2, 29);

/** A call as an edge reports it. */
export function reportedCall(id: string, cost: bigint, changes: Partial<UsageRow> = {}): UsageRow {
  const content: Omit<UsageRow, "contentHash"> = {
    id,
    createdAt: DAY,
    completedAt: DAY + 1,
    organizationId: "org_1",
    teamId: "team_1",
    teamName: "t",
    apiKeyId: "key_1",
    apiKeyName: "k",
    maskedKey: "sk-...0000",
    endpoint: "/chat/completions",
    model: "echo",
    deploymentId: "model_1",
    provider: "echo",
    type: "chat",
    stream: false,
    status: "success",
    httpStatus: 200,
    usage: { input: 10, cachedInput: 0, cacheWrite: 0, output: 20, reasoning: 0, audio: 0, total: 30, source: "provider" },
    cost,
    priceVersion: 1,
    cacheHit: false,
    attempts: 1,
    latencyMs: 1,
    overheadUs: 1,
    tags: [],
    ...changes,
  };
  return { ...content, contentHash: usageContentHash(content) };
}

export function settle(store: Store, rows: readonly UsageRow[], now = DAY): Promise<unknown> {
  return store.transaction("every", (tx) => settleCalls(tx, rows, now));
}

export function purchase(store: Store, input: { organizationId: string; amount: bigint; reference: string }, now = DAY): Promise<unknown> {
  const to = organizationAccount(input.organizationId);
  return store.transaction("every", (tx) => post(tx, { type: "purchase", from: "purchases", to, ...input }, now));
}

/** Fills a store with two organizations with one purchase each, and charged, free and failed calls over several quarters of an hour. */
export async function fillLedger(store: Store): Promise<void> {
  for (const organizationId of ["org_1", "org_2"]) {
    await purchase(store, { organizationId, amount: 1_000n, reference: `pur_${organizationId}` });
  }
  await settle(store, [
    reportedCall("call_1", 10n),
    reportedCall("call_2", 20n, { createdAt: DAY + QUARTER }),
    reportedCall("call_3", 30n, { createdAt: DAY + QUARTER, organizationId: "org_2" }),
    reportedCall("call_4", 0n, { createdAt: DAY + 2 * QUARTER, status: "error" }),
    reportedCall("call_5", 50n, { createdAt: DAY + QUARTER, model: "other" }),
  ]);
}

export async function withLedger(work: (store: Store) => Promise<void>, options: { slots?: number } = {}): Promise<void> {
  const { store, close } = openTestStore(options);
  try {
    await fillLedger(store);
    await work(store);
  } finally {
    await close();
  }
}

/** What a ledger without its head consists of. */
export const LEDGER_COLLECTIONS = ["ledger", "accounts", "usage", "rollups", "keyUses"] as const;

/** Writes what `fillLedger` writes, in the layout of releases before slots: one chain, whose head is named `head`. */
export async function fillOldLedger(store: Store): Promise<void> {
  await withLedger(async (source) => {
    const head = await source.get("ledgerHead", "0");
    if (!head) throw new Error("the ledger must have entries");
    const records = await Promise.all(LEDGER_COLLECTIONS.map(async (name) => ({ name, found: await collect(source.scan(name)) })));
    await store.transaction("every", async (tx) => {
      await tx.put("ledgerHead", { ...head, id: "head" });
      for (const { name, found } of records) for (const record of found) await tx.put(name, record);
    });
  });
}

/** Tampers with one record, bypassing the ledger. */
export async function plant<Name extends CollectionName>(
  store: Store,
  collection: Name,
  id: string | number,
  changes: Partial<Records[Name]> | "removed",
): Promise<void> {
  const record = await store.get(collection, id);
  if (!record) throw new Error(`there is no ${collection} ${id}`);
  await store.transaction("every", (tx) =>
    changes === "removed" ? tx.remove(collection, id) : tx.put(collection, { ...record, ...changes } as Records[Name]),
  );
}
