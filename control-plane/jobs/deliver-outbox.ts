import type { Logger } from "../../common/logger.ts";
import { slotOf } from "../../common/slots.ts";
import type { OutboxRow } from "../domain/ledger-records.ts";
import { collect } from "../stores/page.ts";
import { organizationScope } from "../stores/scopes.ts";
import type { Store } from "../stores/store.ts";
import { isTakenIn, takeIn } from "../writes/outbox.ts";

const BATCH = 500;

/** What the job works with. */
export interface OutboxDeps {
  readonly store: Store;
  readonly logger: Logger;
}

/**
 * Delivers payments between organizations of different slots. The owner of the receiving slot posts the amount, then the owner of the paying
 * slot removes the row: each writes only in its own slot, and either may die at any point, because both steps may be repeated.
 */
export async function deliverOutbox(now: number, { store, logger }: OutboxDeps): Promise<void> {
  // Payments within one slot do not use the outbox.
  if (store.slots === 1) return;
  for (const row of await collect(store.scan("outbox", { limit: BATCH }))) {
    try {
      if (store.owns(slotOf(row.toOrganizationId, store.slots)))
        await store.transaction(organizationScope(store, row.toOrganizationId), (tx) => takeIn(tx, row, now));
      if (store.owns(slotOf(row.fromOrganizationId, store.slots))) await endRow(store, row);
    } catch (error) {
      // One row that cannot be delivered must not hold up the others.
      logger.warn({ reference: row.id, error: String(error) }, "a payment could not be delivered; it is tried again");
    }
  }
}

async function endRow(store: Store, row: OutboxRow): Promise<void> {
  if (await isTakenIn(store, row))
    await store.transaction(organizationScope(store, row.fromOrganizationId), (tx) => tx.remove("outbox", row.id));
}
