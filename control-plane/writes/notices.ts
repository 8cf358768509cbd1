import { toJson } from "../../common/json.ts";
import type { WebhookEvent } from "../../common/webhook-events.ts";
import type { Transaction } from "../stores/store.ts";
import { nextNoticeNumber } from "./counters.ts";

/** Writes an event in the transaction of the change. A job expands it into deliveries later. */
export async function notify(
  tx: Transaction,
  notice: { organizationId: string; type: WebhookEvent; data: Readonly<Record<string, unknown>> },
  now: number,
): Promise<void> {
  const { organizationId, type, data } = notice;
  await tx.insert("notices", {
    id: await nextNoticeNumber(tx, organizationId),
    organizationId,
    type,
    data: toJson({ organizationId, ...data }),
    at: now,
  });
}
