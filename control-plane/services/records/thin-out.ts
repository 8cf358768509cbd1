import type { TeamRecord } from "../../domain/records.ts";
import type { Store } from "../../stores/store.ts";
import { commitRecords, commitScopes, type TeamWrite } from "../../writes/records.ts";

/** A record is removed together with fewer children than this, in one transaction; before, the others go in pages. */
export const CHILDREN_MAX = 50;

/**
 * Removes descendants of a record until few are left, each page in a transaction of its own: the commit that removes the record then reads
 * and writes a bounded number, however long its thread or conversation is. `onRemoved` gets each page.
 */
export async function thinOut(
  store: Store,
  record: TeamRecord,
  { now, onRemoved }: { now: number; onRemoved?: (page: readonly TeamRecord[]) => Promise<void> },
): Promise<void> {
  for (;;) {
    const children = await childrenOf(store, record);
    for (const child of children) await thinOut(store, child, { now, ...(onRemoved && { onRemoved }) });
    if (children.length < CHILDREN_MAX) return;
    const removed = await removePage(store, children, now);
    await onRemoved?.(removed);
  }
}

/** The first children. Parents count only within the team, because edges choose the ids. */
async function childrenOf(store: Store, { id, teamId }: TeamRecord): Promise<TeamRecord[]> {
  const children: TeamRecord[] = [];
  for await (const child of store.scan("records", { index: "byParent", equals: [id] })) {
    if (child.teamId === teamId) children.push(child);
    if (children.length === CHILDREN_MAX) break;
  }
  return children;
}

async function removePage(store: Store, page: readonly TeamRecord[], now: number): Promise<readonly TeamRecord[]> {
  const [{ teamId }] = page as readonly [TeamRecord];
  const removals = page.map(({ kind, id }): TeamWrite => ({ type: "remove", kind, id, withChildren: true, keepsPlace: false }));
  const { removed } = await store.transaction(await commitScopes(store, teamId, removals), async (tx) => {
    const known = await tx.getMany(
      "records",
      page.map(({ id }) => id),
    );
    // Another request may have removed some meanwhile.
    const writes = removals.filter((_removal, place) => known[place] !== undefined);
    return await commitRecords(tx, { teamId, writes }, now);
  });
  return removed;
}
