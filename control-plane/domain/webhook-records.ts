export const WEBHOOK_EVENTS = [
  "balance.low",
  "balance.blocked",
  "balance.unblocked",
  "purchase.completed",
  "key.created",
  "key.removed",
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

export interface Webhook {
  id: string;
  organizationId: string;
  url: string;
  events: readonly WebhookEvent[];
  sealedSecret: string;
  createdBy: number;
  createdAt: number;
}

/** Something happened to an organisation; written in the transaction of what happened, gone when whoever must know has a delivery. */
export interface Notice {
  id: number;
  organizationId: string;
  type: WebhookEvent;
  /** JSON. */
  data: string;
  at: number;
}

/** One message to one receiver: what is to be sent, and what became of it. */
export interface Delivery {
  id: string;
  organizationId: string;
  type: WebhookEvent | "webhook.test";
  /** To whom: one of the two. */
  webhookId?: string;
  mailTo?: string;
  /** Of a mail. */
  subject?: string;
  /** JSON, or a mail's text. */
  body: string;
  status: "pending" | "delivered" | "failed";
  attempts: number;
  httpStatus?: number;
  error?: string;
  createdAt: number;
  deliveredAt?: number;
  /** When it is tried next; absent when nothing is to be done. While somebody tries it, when his claim runs out. */
  dueAt?: number;
  expiresAt: number;
}
