import { ANCHOR_SLOT } from "../domain/anchors.ts";
import { CHECKPOINTS, checkpointHash } from "../domain/checkpoints.ts";
import { NO_HASH } from "../domain/ledger.ts";
import type { Checkpoint } from "../domain/ledger-records.ts";
import type { NewestAnchor } from "../proof/check-anchors.ts";
import { hashAccounts } from "../proof/hash-accounts.ts";
import type { LedgerSnapshot } from "../proof/ledger-snapshot.ts";
import { slotScope } from "../stores/scopes.ts";
import type { Store } from "../stores/store.ts";

/** A ledger that was verified up to a moment. */
interface Verified {
  readonly newest: NewestAnchor;
  readonly snapshot: LedgerSnapshot;
  readonly entries: number;
  /** The number of the newest checkpoint before the check. */
  readonly after: number;
}

/** Writes the checkpoint of a ledger that was verified, unless another one was written meanwhile. */
export async function writeCheckpoint(store: Store, verified: Verified, at: number): Promise<Checkpoint | undefined> {
  const { newest, snapshot, entries, after } = verified;
  const heads = snapshot.heads.flatMap(({ seq, hash }, slot) => (seq === snapshot.begins[slot]?.seq ? [] : [[slot, seq, hash] as const]));
  const accountsHash = await hashAccounts(snapshot.accounts);
  const state = { at, slots: store.slots, anchor: newest.number, anchorHash: newest.hash, entries, heads, accountsHash };
  return store.transaction(slotScope(ANCHOR_SLOT), async (tx) => {
    const last = await tx.get("counters", CHECKPOINTS);
    // Heads of a checkpoint are never before those of the one before it.
    if ((last?.value ?? 0) !== after) return undefined;
    const content = { id: (last?.value ?? 0) + 1, previous: last?.hash ?? NO_HASH, ...state };
    const checkpoint = { ...content, hash: checkpointHash(content) };
    await tx.insert("checkpoints", checkpoint);
    await tx.put("counters", { id: CHECKPOINTS, value: checkpoint.id, hash: checkpoint.hash });
    return checkpoint;
  });
}
