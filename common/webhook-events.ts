/** Events that a webhook can subscribe to. */
export const WEBHOOK_EVENTS = [
  "balance.low",
  "balance.blocked",
  "balance.unblocked",
  "purchase.completed",
  "key.created",
  "key.removed",
  "alert.firing",
  "alert.resolved",
] as const;

/** One of the events. */
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];
