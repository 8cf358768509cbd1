import { ANCHOR_SLOT, ANCHORS, anchoredCounter, anchorHash } from "../domain/anchors.ts";
import { CLOSED_HEAD, NO_HASH } from "../domain/ledger.ts";
import type { Anchor } from "../domain/ledger-records.ts";
import type { LedgerHead } from "../domain/records.ts";
import { collect } from "../stores/page.ts";
import { slotScope } from "../stores/scopes.ts";
import type { Reader, Store, Transaction } from "../stores/store.ts";

/**
 * Writes an anchor with the heads of all slots that changed since the last one, if there are any. Anchors tie the chains of the slots
 * together: who goes back to an earlier state of one slot has to rewrite every later anchor.
 */
export async function anchorHeads(store: Store, now: () => number): Promise<void> {
  // Most runs find no change, so a read without a transaction comes first.
  if ((await changedHeads(store)).length > 0) await store.transaction(slotScope(ANCHOR_SLOT), (tx) => writeAnchor(tx, now()));
}

async function writeAnchor(tx: Transaction, at: number): Promise<void> {
  const changed = await changedHeads(tx);
  if (changed.length === 0) return;
  const last = await tx.get("counters", ANCHORS);
  const heads = changed.map(({ id, seq, hash }) => [Number(id), seq, hash] as const);
  const content: Omit<Anchor, "hash"> = { id: (last?.value ?? 0) + 1, previous: last?.hash ?? NO_HASH, at, heads };
  const hash = anchorHash(content);
  await tx.insert("anchors", { ...content, hash });
  await tx.put("counters", { id: ANCHORS, value: content.id, hash });
  for (const { id, seq } of changed) await tx.put("counters", { id: anchoredCounter(id), value: seq });
}

async function changedHeads(reader: Reader): Promise<LedgerHead[]> {
  const heads = (await collect(reader.scan("ledgerHead"))).filter(({ id }) => id !== CLOSED_HEAD);
  const anchored = await reader.getMany(
    "counters",
    heads.map(({ id }) => anchoredCounter(id)),
  );
  return heads.filter(({ seq }, index) => seq !== anchored[index]?.value).sort((left, right) => Number(left.id) - Number(right.id));
}
