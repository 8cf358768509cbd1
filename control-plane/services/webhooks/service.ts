import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { newId } from "../../../common/ids.ts";
import { WEBHOOK_EVENTS, type WebhookEvent } from "../../../common/webhook-events.ts";
import { mintWebhookSecret } from "../../../common/webhook-signature.ts";
import {
  CreateWebhookResponse,
  DeleteWebhookResponse,
  type Delivery as DeliveryMessage,
  TestWebhookResponse,
  type Webhook as WebhookMessage,
  type WebhooksServiceService,
} from "../../../proto/gen/tributary/webhooks/v1/webhooks.ts";
import type { Delivery, Webhook } from "../../domain/webhook-records.ts";
import { collect, readPage } from "../../stores/page.ts";
import { organizationScope } from "../../stores/scopes.ts";
import type { Reader } from "../../stores/store.ts";
import { webhookDelivery } from "../../webhooks/expand-notices.ts";
import { type Actor, requireActor, requireOrganizationManager } from "../actor.ts";
import { limitByAddress } from "../client.ts";
import type { ControlDeps } from "../deps.ts";
import { date, metaOf, optionalDate, pageOf } from "../messages.ts";
import { checkTenantUrl } from "../tenant-url.ts";
import { write } from "../write.ts";

const WEBHOOKS_MAX = 20;

type Handlers = ServiceHandlers<typeof WebhooksServiceService>;

export function webhooksHandlers(deps: ControlDeps): Handlers {
  return {
    createWebhook: createWebhook(deps),
    deleteWebhook: deleteWebhook(deps),
    testWebhook: testWebhook(deps),

    async listWebhooks(request, context) {
      const actor = await requireActor(deps, context);
      requireOrganizationManager(actor);
      const page = pageOf(request.page);
      const range = { index: "byOrganization", equals: [actor.organizationId], reverse: true } as const;
      const { records, total } = await readPage(deps.store, "webhooks", { ...page, range });
      return { webhooks: records.map(webhookMessage), meta: metaOf(page, total) };
    },

    async listDeliveries(request, context) {
      const actor = await requireActor(deps, context);
      const webhook = await requireWebhook(deps.store, actor, request.webhookId);
      const page = pageOf(request.page);
      const range = { index: "byWebhook", equals: [webhook.id], reverse: true } as const;
      const { records, total } = await readPage(deps.store, "deliveries", { ...page, range });
      return { deliveries: records.map(deliveryMessage), meta: metaOf(page, total) };
    },
  };
}

const createWebhook =
  (deps: ControlDeps): Handlers["createWebhook"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    requireOrganizationManager(actor);
    const { allowPrivateWebhooks: allowPrivate } = deps.config;
    const url = checkTenantUrl(request.url, { allowPrivate, what: "The webhook's address", setting: "ALLOW_PRIVATE_WEBHOOKS" });
    const secret = mintWebhookSecret(deps.random);
    return write(
      deps,
      context,
      { actor, codec: CreateWebhookResponse, scopes: organizationScope(deps.store, actor.organizationId) },
      async ({ tx, now, audit }) => {
        const { organizationId } = actor;
        if ((await tx.count("webhooks", { index: "byOrganization", equals: [organizationId] })) >= WEBHOOKS_MAX) {
          throw new AppError("VALIDATION_ERROR", `An organization has at most ${WEBHOOKS_MAX} webhooks. Delete one first.`);
        }
        const webhook: Webhook = {
          id: newId("wh", deps),
          organizationId,
          url,
          events: checkEvents(request.events),
          sealedSecret: deps.secrets.seal(Buffer.from(secret)),
          createdBy: actor.user.id,
          createdAt: now,
        };
        await tx.insert("webhooks", webhook);
        await audit({ action: "webhook.create", target: webhook.id, details: { url, events: webhook.events } });
        return { webhook: webhookMessage(webhook), secret };
      },
    );
  };

const deleteWebhook =
  (deps: ControlDeps): Handlers["deleteWebhook"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    return write(
      deps,
      context,
      { actor, codec: DeleteWebhookResponse, scopes: organizationScope(deps.store, actor.organizationId) },
      async ({ tx, audit }) => {
        const webhook = await requireWebhook(tx, actor, request.id);
        await tx.remove("webhooks", webhook.id);
        // Pending deliveries are canceled. Finished ones stay in the log until they expire.
        const pending = (await collect(tx.scan("deliveries", { index: "byWebhook", equals: [webhook.id] }))).filter(isPending);
        for (const { id } of pending) await tx.remove("deliveries", id);
        await audit({ action: "webhook.delete", target: webhook.id, details: { url: webhook.url } });
        return {};
      },
    );
  };

const testWebhook =
  (deps: ControlDeps): Handlers["testWebhook"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    await requireWebhook(deps.store, actor, request.id);
    limitByAddress(deps, context, "test");
    return write(
      deps,
      context,
      { actor, codec: TestWebhookResponse, scopes: organizationScope(deps.store, actor.organizationId) },
      async ({ tx, now, audit }) => {
        const webhook = await requireWebhook(tx, actor, request.id);
        const data = JSON.stringify({ organizationId: webhook.organizationId, webhookId: webhook.id });
        const delivery = webhookDelivery(deps, webhook, { type: "webhook.test", data, at: now });
        await tx.insert("deliveries", delivery);
        await audit({ action: "webhook.test", target: webhook.id });
        return { delivery: deliveryMessage(delivery) };
      },
    );
  };

/** A webhook of another organization is NOT_FOUND for every role; webhooks of the own organization need an owner or admin. */
async function requireWebhook(reader: Reader, actor: Actor, id: string): Promise<Webhook> {
  const webhook = await reader.get("webhooks", id);
  if (webhook?.organizationId !== actor.organizationId) throw new AppError("NOT_FOUND", "There is no such webhook.");
  requireOrganizationManager(actor);
  return webhook;
}

function checkEvents(given: readonly string[]): WebhookEvent[] {
  const events = WEBHOOK_EVENTS.filter((event) => given.includes(event));
  if (events.length > 0 && given.every((event) => (WEBHOOK_EVENTS as readonly string[]).includes(event))) return events;
  const message = `must name at least one of ${WEBHOOK_EVENTS.join(", ")}, and nothing else`;
  throw new AppError("VALIDATION_ERROR", `The webhook's events ${message}.`, { details: [{ path: "body.events", message }] });
}

const isPending = ({ status }: Delivery): boolean => status === "pending";

function webhookMessage({ id, organizationId, url, events, createdBy, createdAt }: Webhook): WebhookMessage {
  return { id, organizationId, url, events: [...events], createdBy: BigInt(createdBy), createdAt: date(createdAt) };
}

function deliveryMessage(delivery: Delivery): DeliveryMessage {
  const { id, webhookId = "", type, status, attempts, httpStatus, error, body } = delivery;
  return {
    id,
    webhookId,
    type,
    status,
    attempts,
    httpStatus,
    error,
    createdAt: date(delivery.createdAt),
    deliveredAt: optionalDate(delivery.deliveredAt),
    nextAttemptAt: optionalDate(delivery.dueAt),
    body,
  };
}
