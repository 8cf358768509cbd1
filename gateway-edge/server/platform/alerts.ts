import type { Alert, AlertDelivery, AlertSettings } from "../../../proto/gen/tributary/alerts/v1/alerts.ts";
import type { EdgeDeps } from "../../deps.ts";
import { idParams, pageQuery } from "../../schemas/fields.ts";
import * as schemas from "../../schemas/platform/alerts.ts";
import { type Operation, operation } from "../middleware/operation.ts";
import { presentList, sent } from "./present.ts";

const tag = "Alerts";
/** The control plane counts error rates in hundredths of a percent. */
const PER_PERCENT = 100;

export function alertOperations(deps: EdgeDeps): Operation[] {
  return [listAlerts(deps), createAlert(deps), updateAlert(deps), deleteAlert(deps), testAlert(deps), listDeliveries(deps)];
}

const listAlerts = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/gw/alerts",
    summary: "List the alerts of the active organization and their state; for owners and admins",
    tag,
    auth: "user",
    query: pageQuery,
    status: 200,
    answer: schemas.listAlertsAnswer,
    handler: async ({ query }, call) => {
      const { alerts, meta } = await control.alerts.listAlerts({ page: query }, call.read());
      return presentList(alerts, meta, presentAlert);
    },
  });

const createAlert = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/gw/alerts",
    summary: "Create an alert on error rate, latency or spend, sent by mail, webhook (alert.firing, alert.resolved) and to a Slack URL",
    tag,
    auth: "user",
    body: schemas.createAlertBody,
    status: 201,
    answer: schemas.alertAnswer,
    handler: async ({ body }, call) => {
      const { alert } = await control.alerts.createAlert({ settings: settingsOf(body) }, call.write());
      return { alert: presentAlert(sent(alert, "alert")) };
    },
  });

const updateAlert = ({ control }: EdgeDeps) =>
  operation({
    method: "patch",
    path: "/api/gw/alerts/:id",
    summary: "Change an alert; absent fields stay, null clears `model`, `team_id` and `slackUrl`",
    tag,
    auth: "user",
    params: idParams,
    body: schemas.updateAlertBody,
    status: 200,
    answer: schemas.alertAnswer,
    handler: async ({ params, body }, call) => {
      const { alert } = await control.alerts.updateAlert({ id: params.id, settings: settingsOf(body) }, call.write());
      return { alert: presentAlert(sent(alert, "alert")) };
    },
  });

const deleteAlert = ({ control }: EdgeDeps) =>
  operation({
    method: "delete",
    path: "/api/gw/alerts/:id",
    summary: "Delete an alert; pending messages are dropped",
    tag,
    auth: "user",
    params: idParams,
    status: 200,
    answer: schemas.deletedAlertAnswer,
    handler: async ({ params }, call) => {
      await control.alerts.deleteAlert(params, call.write());
      return { deleted: true as const, id: params.id };
    },
  });

const testAlert = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/gw/alerts/:id/test",
    summary: "Send a message of the type alert.test to every receiver; the results are in the deliveries",
    tag,
    auth: "user",
    params: idParams,
    status: 202,
    answer: schemas.testedAlertAnswer,
    handler: ({ params }, call) => control.alerts.testAlert(params, call.write()),
  });

const listDeliveries = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/gw/alerts/:id/deliveries",
    summary: "List the mails and Slack messages of an alert of the last 30 days, newest first; those of webhooks are in their deliveries",
    tag,
    auth: "user",
    params: idParams,
    query: pageQuery,
    status: 200,
    answer: schemas.listAlertDeliveriesAnswer,
    handler: async ({ params, query }, call) => {
      const { deliveries, meta } = await control.alerts.listAlertDeliveries({ alertId: params.id, page: query }, call.read());
      return presentList(deliveries, meta, presentDelivery);
    },
  });

function settingsOf(body: schemas.AlertFields): AlertSettings {
  const { name, windowMinutes, period, minRequests, email } = body;
  return {
    name,
    threshold: thresholdOf(body),
    windowMinutes,
    period,
    minRequests,
    // Empty clears a field.
    model: body.model === null ? "" : body.model,
    teamId: body.team_id === null ? "" : body.team_id,
    email,
    slackUrl: body.slackUrl === null ? "" : body.slackUrl,
  };
}

function thresholdOf({ errorRatePercent, latencyP95Ms, spend }: schemas.AlertFields): AlertSettings["threshold"] {
  if (errorRatePercent === undefined && latencyP95Ms === undefined && spend === undefined) return undefined;
  return {
    errorRate: errorRatePercent === undefined ? undefined : BigInt(Math.round(errorRatePercent * PER_PERCENT)),
    latencyP95Ms: latencyP95Ms === undefined ? undefined : BigInt(latencyP95Ms),
    spend: spend === undefined ? undefined : BigInt(spend),
  };
}

function presentAlert(alert: Alert): schemas.AlertRecord {
  const { id, organizationId, name, windowMinutes, period, minRequests, email, createdBy } = alert;
  const { errorRate, latencyP95Ms, spend } = sent(alert.threshold, "threshold");
  const metric = alert.metric as schemas.AlertRecord["metric"];
  return {
    id,
    organizationId,
    name,
    metric,
    errorRatePercent: errorRate === undefined ? null : percent(errorRate),
    latencyP95Ms: latencyP95Ms ?? null,
    spend: spend ?? null,
    windowMinutes,
    period,
    minRequests,
    model: alert.model ?? null,
    team_id: alert.teamId ?? null,
    email,
    slackHost: alert.slackHost ?? null,
    state: alert.state === "firing" ? "firing" : "ok",
    since: sent(alert.since, "since"),
    value: alert.value === undefined ? null : metric === "error_rate" ? percent(alert.value) : alert.value,
    checkedAt: alert.checkedAt ?? null,
    createdBy,
    createdAt: sent(alert.createdAt, "createdAt"),
    updatedAt: sent(alert.updatedAt, "updatedAt"),
  };
}

const percent = (hundredths: bigint): number => Number(hundredths) / PER_PERCENT;

function presentDelivery(delivery: AlertDelivery): schemas.AlertDeliveryRecord {
  const { id, type, receiver, status, attempts } = delivery;
  return {
    id,
    type,
    receiver,
    status,
    attempts,
    httpStatus: delivery.httpStatus ?? null,
    error: delivery.error ?? null,
    createdAt: sent(delivery.createdAt, "createdAt"),
    deliveredAt: delivery.deliveredAt ?? null,
    nextAttemptAt: delivery.nextAttemptAt ?? null,
  };
}
