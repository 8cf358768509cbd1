import type { WebhookEvent } from "../../common/webhook-events.ts";

/** Messages about alerts. */
export type AlertMessageType = "alert.firing" | "alert.resolved" | "alert.test";

/** An address that an organization wants events sent to. */
export interface Webhook {
  id: string;
  organizationId: string;
  url: string;
  events: readonly WebhookEvent[];
  sealedSecret: string;
  createdBy: number;
  createdAt: number;
}

/** An event of an organization, written in the transaction of the change and removed when its deliveries exist. */
export interface Notice {
  id: number;
  organizationId: string;
  type: WebhookEvent;
  /** JSON. */
  data: string;
  at: number;
}

/** One message to one receiver, and the outcome of sending it. */
export interface Delivery {
  id: string;
  organizationId: string;
  type: WebhookEvent | AlertMessageType | "webhook.test";
  /** The receiver: a webhook, or an alert with a Slack URL. Beside `mailTo`, the alert that the mail is about. */
  webhookId?: string;
  /** The receiver of a mail. */
  mailTo?: string;
  /** Subject of a mail. */
  subject?: string;
  /** JSON, or a mail's text. */
  body: string;
  status: "pending" | "delivered" | "failed";
  attempts: number;
  httpStatus?: number;
  error?: string;
  createdAt: number;
  deliveredAt?: number;
  /** When the next attempt is due; absent once it is delivered or failed. During an attempt, when its claim expires. */
  dueAt?: number;
  expiresAt: number;
}
