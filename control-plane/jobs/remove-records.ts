import { removeContents } from "../services/records/content.ts";
import { thinOut } from "../services/records/thin-out.ts";
import { collect } from "../stores/page.ts";
import type { Store } from "../stores/store.ts";
import { contentScopes, removeExpiredRecords } from "../writes/records.ts";

/** Small, because records are larger than other rows and removing one removes its children. */
const EXPIRED_BATCH = 50;
const UNOWNED_BATCH = 500;
/** Longer than any upload takes: content is uploaded before the record that owns it is created. */
export const UNOWNED_MS = 2 * 3_600_000;

/** Removes records that have expired, and content that no record owns. */
export async function removeOldRecords(now: number, { store }: { store: Store }): Promise<void> {
  for (;;) {
    const expired = await collect(store.scan("records", { index: "byExpiry", before: now, limit: EXPIRED_BATCH }));
    for (const [teamId, ofTeam] of Map.groupBy(expired, (record) => record.teamId)) {
      for (const record of ofTeam) await thinOut(store, record, { now });
      const ids = ofTeam.map(({ id }) => id);
      await store.transaction(await contentScopes(store, teamId), (tx) => removeExpiredRecords(tx, ids, now));
    }
    if (expired.length < EXPIRED_BATCH) break;
  }
  const unowned = await collect(store.scan("contents", { index: "byUnowned", before: now - UNOWNED_MS, limit: UNOWNED_BATCH }));
  await removeContents(
    { store },
    unowned.map(({ id }) => id),
  );
}
