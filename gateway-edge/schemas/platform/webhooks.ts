import { z } from "zod";
import { WEBHOOK_EVENTS } from "../../../common/webhook-events.ts";
import { listOf } from "../records.ts";

const URL_LENGTH_MAX = 2048;

export const createWebhookBody = z.object({
  url: z.string().trim().min(1, "must not be empty").max(URL_LENGTH_MAX, `must have at most ${URL_LENGTH_MAX} characters`),
  events: z.array(z.enum(WEBHOOK_EVENTS)).min(1, "must name at least one event").max(WEBHOOK_EVENTS.length),
});

const webhookRecord = z
  .object({
    id: z.string(),
    organizationId: z.string(),
    url: z.string(),
    events: z.array(z.string()),
    createdBy: z.bigint(),
    createdAt: z.date(),
  })
  .meta({ id: "Webhook" });

const deliveryRecord = z
  .object({
    /** The `webhook-id` header, the same in every attempt. */
    id: z.string(),
    webhookId: z.string(),
    type: z.string(),
    status: z.string(),
    attempts: z.int(),
    httpStatus: z.int().nullable(),
    error: z.string().nullable(),
    createdAt: z.date(),
    deliveredAt: z.date().nullable(),
    nextAttemptAt: z.date().nullable(),
    /** The JSON that is sent, as the text that the signature covers. */
    body: z.string(),
  })
  .meta({ id: "WebhookDelivery" });

export type WebhookRecord = z.infer<typeof webhookRecord>;
export type DeliveryRecord = z.infer<typeof deliveryRecord>;

export const listWebhooksAnswer = listOf(webhookRecord);
export const createdWebhookAnswer = z.object({ webhook: webhookRecord, secret: z.string() });
export const deletedWebhookAnswer = z.object({ deleted: z.literal(true), id: z.string() });
export const deliveryAnswer = z.object({ delivery: deliveryRecord });
export const listDeliveriesAnswer = listOf(deliveryRecord);
