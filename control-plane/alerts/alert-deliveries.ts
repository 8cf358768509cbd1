import type { AlertRecord } from "../domain/alerts.ts";
import type { AlertMessageType, Delivery } from "../domain/webhook-records.ts";
import type { ControlDeps } from "../services/deps.ts";
import { collect } from "../stores/page.ts";
import type { Reader } from "../stores/store.ts";
import { managersOf, newDelivery, webhookDelivery } from "../webhooks/expand-notices.ts";
import { alertData, alertSubject, alertText, slackBody } from "./alert-messages.ts";

/** One message to every receiver: subscribed webhooks, owners and admins by mail, and the alert's Slack URL. */
export async function alertDeliveries(
  deps: Pick<ControlDeps, "clock" | "random">,
  reader: Reader,
  { alert, type, now }: { alert: AlertRecord; type: AlertMessageType; now: number },
): Promise<Delivery[]> {
  const { id, organizationId } = alert;
  const organization = await reader.get("organizations", organizationId);
  const subject = alertSubject(type, alert, organization?.name ?? organizationId);
  const text = alertText(type, alert);
  // An alert's id is in the place of the webhook's, so that the index of a webhook's deliveries also lists those of an alert.
  const draft = () => ({ ...newDelivery(deps, organizationId), type, webhookId: id });
  const subscribed = type === "alert.test" ? "alert.firing" : type;
  const webhooks = await collect(reader.scan("webhooks", { index: "byOrganization", equals: [organizationId] }));
  const mailed = alert.email ? await managersOf(reader, organizationId) : [];
  return [
    ...webhooks
      .filter(({ events }) => events.includes(subscribed))
      .map((webhook) => webhookDelivery(deps, webhook, { type, data: alertData(alert), at: now })),
    ...mailed.map(({ email }) => ({ ...draft(), mailTo: email, subject, body: text })),
    ...(alert.sealedSlackUrl === undefined ? [] : [{ ...draft(), body: slackBody(subject, text) }]),
  ];
}
