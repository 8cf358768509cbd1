import { toJson } from "../../common/json.ts";
import type { WebhookEvent } from "../domain/webhook-records.ts";
import type { Transaction } from "../stores/store.ts";
import { nextNumber } from "./counters.ts";

/** What happened, for whoever wants to know, in the transaction in which it happened. Who that is, a job finds out later. */
export async function notify(
  tx: Transaction,
  notice: { organizationId: string; type: WebhookEvent; data: Readonly<Record<string, unknown>> },
  now: number,
): Promise<void> {
  const { organizationId, type, data } = notice;
  await tx.insert("notices", {
    id: await nextNumber(tx, "notices"),
    organizationId,
    type,
    data: toJson({ organizationId, ...data }),
    at: now,
  });
}
