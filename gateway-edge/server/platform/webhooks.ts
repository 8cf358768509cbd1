import type { Delivery, Webhook } from "../../../proto/gen/tributary/webhooks/v1/webhooks.ts";
import type { EdgeDeps } from "../../deps.ts";
import { idParams, pageQuery } from "../../schemas/fields.ts";
import * as schemas from "../../schemas/platform/webhooks.ts";
import { type Operation, operation } from "../middleware/operation.ts";
import { presentList, sent } from "./present.ts";

const tag = "Webhooks";

export function webhookOperations(deps: EdgeDeps): Operation[] {
  return [listWebhooks(deps), createWebhook(deps), deleteWebhook(deps), testWebhook(deps), listDeliveries(deps)];
}

const listWebhooks = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/gw/webhooks",
    summary: "List the webhooks of the active organization; for owners and admins",
    tag,
    auth: "user",
    query: pageQuery,
    status: 200,
    answer: schemas.listWebhooksAnswer,
    handler: async ({ query }, call) => {
      const { webhooks, meta } = await control.webhooks.listWebhooks({ page: query }, call.read());
      return presentList(webhooks, meta, presentWebhook);
    },
  });

const createWebhook = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/gw/webhooks",
    summary: "Create a webhook, signed as Standard Webhooks; the secret is only in this response",
    tag,
    auth: "user",
    body: schemas.createWebhookBody,
    status: 201,
    answer: schemas.createdWebhookAnswer,
    handler: async ({ body }, call) => {
      const { webhook, secret } = await control.webhooks.createWebhook(body, call.write());
      return { webhook: presentWebhook(sent(webhook, "webhook")), secret };
    },
  });

const deleteWebhook = ({ control }: EdgeDeps) =>
  operation({
    method: "delete",
    path: "/api/gw/webhooks/:id",
    summary: "Delete a webhook; pending deliveries are dropped",
    tag,
    auth: "user",
    params: idParams,
    status: 200,
    answer: schemas.deletedWebhookAnswer,
    handler: async ({ params }, call) => {
      await control.webhooks.deleteWebhook(params, call.write());
      return { deleted: true as const, id: params.id };
    },
  });

const testWebhook = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/gw/webhooks/:id/test",
    summary: "Send an event of the type webhook.test; its result is in the deliveries",
    tag,
    auth: "user",
    params: idParams,
    status: 202,
    answer: schemas.deliveryAnswer,
    handler: async ({ params }, call) => {
      const { delivery } = await control.webhooks.testWebhook(params, call.write());
      return { delivery: presentDelivery(sent(delivery, "delivery")) };
    },
  });

const listDeliveries = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/gw/webhooks/:id/deliveries",
    summary: "List the deliveries of a webhook of the last 30 days, newest first",
    tag,
    auth: "user",
    params: idParams,
    query: pageQuery,
    status: 200,
    answer: schemas.listDeliveriesAnswer,
    handler: async ({ params, query }, call) => {
      const { deliveries, meta } = await control.webhooks.listDeliveries({ webhookId: params.id, page: query }, call.read());
      return presentList(deliveries, meta, presentDelivery);
    },
  });

function presentWebhook({ id, organizationId, url, events, createdBy, createdAt }: Webhook): schemas.WebhookRecord {
  return { id, organizationId, url, events, createdBy, createdAt: sent(createdAt, "createdAt") };
}

function presentDelivery(delivery: Delivery): schemas.DeliveryRecord {
  const { id, webhookId, type, status, attempts, body } = delivery;
  return {
    id,
    webhookId,
    type,
    status,
    attempts,
    httpStatus: delivery.httpStatus ?? null,
    error: delivery.error ?? null,
    createdAt: sent(delivery.createdAt, "createdAt"),
    deliveredAt: delivery.deliveredAt ?? null,
    nextAttemptAt: delivery.nextAttemptAt ?? null,
    body,
  };
}
