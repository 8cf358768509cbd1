import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { newId } from "../../../common/ids.ts";
import {
  type Alert,
  type AlertDelivery,
  type AlertSettings,
  type AlertsServiceService,
  CreateAlertResponse,
  DeleteAlertResponse,
  TestAlertResponse,
  UpdateAlertResponse,
} from "../../../proto/gen/tributary/alerts/v1/alerts.ts";
import { alertDeliveries } from "../../alerts/alert-deliveries.ts";
import type { AlertRecord } from "../../domain/alerts.ts";
import type { Delivery } from "../../domain/webhook-records.ts";
import { collect, readPage } from "../../stores/page.ts";
import { organizationScope } from "../../stores/scopes.ts";
import type { Reader } from "../../stores/store.ts";
import { type Actor, requireActor, requireOrganizationManager } from "../actor.ts";
import { limitByAddress } from "../client.ts";
import type { ControlDeps } from "../deps.ts";
import { date, metaOf, optionalDate, pageOf } from "../messages.ts";
import { write } from "../write.ts";
import { readAlert } from "./read-alert.ts";

const ALERTS_MAX = 20;

type Handlers = ServiceHandlers<typeof AlertsServiceService>;

/** Alerts of organizations, for their owners and admins. A job judges them. */
export function alertsHandlers(deps: ControlDeps): Handlers {
  return {
    createAlert: createAlert(deps),
    updateAlert: updateAlert(deps),
    deleteAlert: deleteAlert(deps),
    testAlert: testAlert(deps),

    async listAlerts(request, context) {
      const actor = await requireActor(deps, context);
      requireOrganizationManager(actor);
      const page = pageOf(request.page);
      const range = { index: "byOrganization", equals: [actor.organizationId] } as const;
      const { records, total } = await readPage(deps.store, "alerts", { ...page, range });
      return { alerts: records.map(alertMessage), meta: metaOf(page, total) };
    },

    async listAlertDeliveries(request, context) {
      const actor = await requireActor(deps, context);
      const alert = await requireAlert(deps.store, actor, request.alertId);
      const page = pageOf(request.page);
      const range = { index: "byWebhook", equals: [alert.id], reverse: true } as const;
      const { records, total } = await readPage(deps.store, "deliveries", { ...page, range });
      return { deliveries: records.map(deliveryMessage), meta: metaOf(page, total) };
    },
  };
}

const createAlert =
  (deps: ControlDeps): Handlers["createAlert"] =>
  async ({ settings }, context) => {
    const actor = await requireActor(deps, context);
    await refuseForeignTeam(deps.store, actor, settings);
    requireOrganizationManager(actor);
    const chosen = readAlert(deps, settings, undefined);
    const { organizationId } = actor;
    return write(
      deps,
      context,
      { actor, codec: CreateAlertResponse, scopes: organizationScope(deps.store, organizationId) },
      async ({ tx, now, audit }) => {
        if ((await tx.count("alerts", { index: "byOrganization", equals: [organizationId] })) >= ALERTS_MAX) {
          throw new AppError("VALIDATION_ERROR", `An organization has at most ${ALERTS_MAX} alerts. Delete one first.`);
        }
        const alert: AlertRecord = {
          id: newId("alert", deps),
          organizationId,
          ...chosen,
          state: "ok",
          since: now,
          createdBy: actor.user.id,
          createdAt: now,
          updatedAt: now,
        };
        await tx.insert("alerts", alert);
        await audit({ action: "alert.create", target: alert.id, details: factsOf(alert) });
        return { alert: alertMessage(alert) };
      },
    );
  };

const updateAlert =
  (deps: ControlDeps): Handlers["updateAlert"] =>
  async ({ id, settings }, context) => {
    const actor = await requireActor(deps, context);
    await refuseForeignTeam(deps.store, actor, settings);
    return write(
      deps,
      context,
      { actor, codec: UpdateAlertResponse, scopes: organizationScope(deps.store, actor.organizationId) },
      async ({ tx, now, audit }) => {
        const before = await requireAlert(tx, actor, id);
        const alert = withSettings(before, readAlert(deps, settings, before), now);
        await tx.put("alerts", alert);
        await audit({ action: "alert.update", target: id, details: factsOf(alert) });
        return { alert: alertMessage(alert) };
      },
    );
  };

const deleteAlert =
  (deps: ControlDeps): Handlers["deleteAlert"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    return write(
      deps,
      context,
      { actor, codec: DeleteAlertResponse, scopes: organizationScope(deps.store, actor.organizationId) },
      async ({ tx, audit }) => {
        const alert = await requireAlert(tx, actor, request.id);
        await tx.remove("alerts", alert.id);
        const sent = await collect(tx.scan("deliveries", { index: "byWebhook", equals: [alert.id] }));
        for (const { id, status } of sent) if (status === "pending") await tx.remove("deliveries", id);
        await audit({ action: "alert.delete", target: alert.id, details: factsOf(alert) });
        return {};
      },
    );
  };

const testAlert =
  (deps: ControlDeps): Handlers["testAlert"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    await requireAlert(deps.store, actor, request.id);
    limitByAddress(deps, context, "test");
    return write(
      deps,
      context,
      { actor, codec: TestAlertResponse, scopes: organizationScope(deps.store, actor.organizationId) },
      async ({ tx, now, audit }) => {
        const alert = await requireAlert(tx, actor, request.id);
        const deliveries = await alertDeliveries(deps, tx, { alert, type: "alert.test", now });
        for (const delivery of deliveries) await tx.insert("deliveries", delivery);
        await audit({ action: "alert.test", target: alert.id });
        return { receivers: deliveries.length };
      },
    );
  };

/** An alert on another metric begins anew; otherwise the next measurement decides whether it goes on firing. */
function withSettings(before: AlertRecord, chosen: ReturnType<typeof readAlert>, now: number): AlertRecord {
  const { id, organizationId, state, since, value, checkedAt, createdBy, createdAt } = before;
  const kept = { id, organizationId, createdBy, createdAt, updatedAt: now, ...chosen };
  if (chosen.metric !== before.metric) return { ...kept, state: "ok", since: now };
  return { ...kept, state, since, ...(value === undefined ? {} : { value }), ...(checkedAt === undefined ? {} : { checkedAt }) };
}

/** A team of another organization is NOT_FOUND for every role. */
async function refuseForeignTeam(reader: Reader, { organizationId }: Actor, settings: AlertSettings | undefined): Promise<void> {
  const teamId = settings?.teamId ?? "";
  if (teamId !== "" && (await reader.get("teams", teamId))?.organizationId !== organizationId) {
    throw new AppError("NOT_FOUND", "There is no such team.");
  }
}

/** An alert of another organization is NOT_FOUND for every role; alerts of the own organization need an owner or admin. */
async function requireAlert(reader: Reader, actor: Actor, id: string): Promise<AlertRecord> {
  const alert = await reader.get("alerts", id);
  if (alert?.organizationId !== actor.organizationId) throw new AppError("NOT_FOUND", "There is no such alert.");
  requireOrganizationManager(actor);
  return alert;
}

/** For the audit log: the rule without the secret part of the Slack URL. */
function factsOf({ name, metric, threshold, windowMinutes, period, minRequests, model, teamId, email, slackHost }: AlertRecord) {
  return { name, metric, threshold, windowMinutes, period, minRequests, model, teamId, email, slackHost };
}

function alertMessage(alert: AlertRecord): Alert {
  const { sealedSlackUrl: _, metric, threshold, since, checkedAt, createdBy, createdAt, updatedAt, ...same } = alert;
  return {
    ...same,
    metric,
    threshold: {
      errorRate: metric === "error_rate" ? threshold : undefined,
      latencyP95Ms: metric === "latency_p95" ? threshold : undefined,
      spend: metric === "spend" ? threshold : undefined,
    },
    since: date(since),
    checkedAt: optionalDate(checkedAt),
    createdBy: BigInt(createdBy),
    createdAt: date(createdAt),
    updatedAt: date(updatedAt),
  };
}

function deliveryMessage(delivery: Delivery): AlertDelivery {
  const { id, type, mailTo, status, attempts, httpStatus, error } = delivery;
  return {
    id,
    type,
    receiver: mailTo ?? "slack",
    status,
    attempts,
    // The status of a mail would be one of HTTP that it never had.
    httpStatus: mailTo === undefined ? httpStatus : undefined,
    error,
    createdAt: date(delivery.createdAt),
    deliveredAt: optionalDate(delivery.deliveredAt),
    nextAttemptAt: optionalDate(delivery.dueAt),
  };
}
