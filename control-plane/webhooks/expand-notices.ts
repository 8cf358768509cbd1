import { newId } from "../../common/ids.ts";
import { manages } from "../domain/permissions.ts";
import type { User } from "../domain/records.ts";
import type { Delivery, Notice, Webhook } from "../domain/webhook-records.ts";
import type { ControlDeps } from "../services/deps.ts";
import { collect } from "../stores/page.ts";
import { perTransaction } from "../stores/record-slots.ts";
import type { Reader } from "../stores/store.ts";

type Deps = Pick<ControlDeps, "store" | "clock" | "random">;
type Sources = Pick<ControlDeps, "clock" | "random">;

const BATCH = 100;
/** How long the outcome of a delivery can be looked up. */
const RETENTION_MS = 30 * 24 * 3_600_000;

/** Creates a delivery for each receiver of a notice, and removes the notice in the same transaction. */
export async function expandNotices(deps: Deps): Promise<void> {
  for (;;) {
    const waiting = await collect(deps.store.scan("notices", { limit: BATCH }));
    if (waiting.length === 0) return;
    for (const notices of perTransaction(deps.store, "notices", waiting)) await expand(deps, notices);
    if (waiting.length < BATCH) return;
  }
}

function expand(deps: Deps, notices: readonly Notice[]): Promise<void> {
  return deps.store.transaction([], async (tx) => {
    // Read again: another control plane may have expanded it already.
    for (const notice of await tx.getMany(
      "notices",
      notices.map(({ id }) => id),
    )) {
      if (!notice) continue;
      for (const delivery of await deliveriesOf(deps, tx, notice)) await tx.insert("deliveries", delivery);
      await tx.remove("notices", notice.id);
    }
  });
}

/** A message to a webhook, due at once. `data` is JSON. */
export function webhookDelivery(deps: Sources, webhook: Webhook, message: { type: Delivery["type"]; data: string; at: number }): Delivery {
  const { type, data, at } = message;
  // The JSON text is embedded as it is: parsing and serializing it again could lose digits of an amount.
  const body = `{"type":"${type}","timestamp":"${new Date(at).toISOString()}","data":${data}}`;
  return { ...newDelivery(deps, webhook.organizationId), type, webhookId: webhook.id, body };
}

async function deliveriesOf(deps: Deps, reader: Reader, notice: Notice): Promise<Delivery[]> {
  const { organizationId, type } = notice;
  const webhooks = await collect(reader.scan("webhooks", { index: "byOrganization", equals: [organizationId] }));
  // A webhook receives only events after its creation.
  const deliveries = webhooks
    .filter(({ events, createdAt }) => events.includes(type) && createdAt <= notice.at)
    .map((webhook) => webhookDelivery(deps, webhook, notice));
  return type === "balance.low" ? [...deliveries, ...(await lowBalanceMails(deps, reader, notice))] : deliveries;
}

async function lowBalanceMails(deps: Deps, reader: Reader, { organizationId, data }: Notice): Promise<Delivery[]> {
  const organization = await reader.get("organizations", organizationId);
  const { balanceUsd, thresholdUsd } = JSON.parse(data) as { balanceUsd: string; thresholdUsd: string };
  const name = organization?.name ?? organizationId;
  const subject = `The credits of ${name} are running low`;
  const body = `The balance of ${name} is ${balanceUsd} USD, below the threshold of ${thresholdUsd} USD. When it falls below zero, all teams are blocked until credits are bought.`;
  const managers = await managersOf(reader, organizationId);
  return managers.map(({ email }) => ({
    ...newDelivery(deps, organizationId),
    type: "balance.low" as const,
    mailTo: email,
    subject,
    body,
  }));
}

/** The owners and admins of an organization. */
export async function managersOf(reader: Reader, organizationId: string): Promise<User[]> {
  const members = await collect(reader.scan("organizationMembers", { index: "byOrganization", equals: [organizationId] }));
  const users = await reader.getMany(
    "users",
    members.filter(({ role }) => manages(role)).map(({ userId }) => userId),
  );
  return users.filter((user) => user !== undefined);
}

/** The fields of a delivery that is due at once, but for its receiver and content. */
export function newDelivery(deps: Sources, organizationId: string) {
  const now = deps.clock.now();
  return {
    id: newId("msg", deps),
    organizationId,
    status: "pending" as const,
    attempts: 0,
    createdAt: now,
    dueAt: now,
    expiresAt: now + RETENTION_MS,
  };
}
