import { signedHeaders } from "../../common/webhook-signature.ts";
import type { AlertRecord } from "../domain/alerts.ts";
import { type AttemptOutcome, afterAttempt } from "../domain/delivery.ts";
import type { Delivery } from "../domain/webhook-records.ts";
import type { ControlDeps } from "../services/deps.ts";
import { perTransaction } from "../stores/record-slots.ts";
import type { Position } from "../stores/store.ts";

type Deps = Pick<ControlDeps, "store" | "clock" | "random" | "logger" | "secrets" | "mailer" | "sendWebhook" | "config">;

/** Attempts at the same time, in all and per organization, so that a receiver that hangs delays only its own organization. */
const [ATTEMPTS_MAX, ATTEMPTS_PER_ORGANIZATION_MAX] = [32, 4];
const SCANNED_MAX = 2000;
/** Longer than an attempt takes; after it another control plane may try. */
const CLAIM_MS = 60_000;
const USER_AGENT = "Tributary-Webhooks/1";

/** Sends due deliveries at least once: a process that dies before it stores an outcome sends again, with the same webhook-id. */
export class Deliverer {
  readonly #deps: Deps;
  readonly #underWay = new Map<Promise<void>, string>();
  readonly #scannedMax: number;
  /** Where the next look at due deliveries begins; absent: with the oldest. */
  #after: Position | undefined;

  constructor(deps: Deps, { scannedMax = SCANNED_MAX }: { scannedMax?: number } = {}) {
    this.#deps = deps;
    this.#scannedMax = scannedMax;
  }

  /** Starts all due deliveries without waiting for them. */
  async begin(): Promise<void> {
    for (const due of perTransaction(this.#deps.store, "deliveries", await this.#choose())) {
      for (const delivery of await this.#claim(due)) this.#start(delivery);
    }
  }

  async idle(): Promise<void> {
    await Promise.all(this.#underWay.keys());
  }

  #start(delivery: Delivery): void {
    const attempt = this.#try(delivery)
      .catch((error: unknown) =>
        this.#deps.logger.warn(
          { deliveryId: delivery.id, error: String(error) },
          "a delivery attempt was not recorded; it is retried when its claim expires",
        ),
      )
      .finally(() => this.#underWay.delete(attempt));
    this.#underWay.set(attempt, delivery.organizationId);
  }

  async #choose(): Promise<Delivery[]> {
    const { store, clock } = this.#deps;
    const counts = new Map<string, number>();
    for (const organizationId of this.#underWay.values()) counts.set(organizationId, (counts.get(organizationId) ?? 0) + 1);
    const chosen: Delivery[] = [];
    const range = { index: "byDue", before: clock.now() + 1, limit: this.#scannedMax, ...(this.#after && { after: this.#after }) } as const;
    let scanned = 0;
    this.#after = undefined;
    for await (const delivery of store.scan("deliveries", range)) {
      if (this.#underWay.size + chosen.length >= ATTEMPTS_MAX) break;
      scanned++;
      // The next look goes on here: one organization may have more due deliveries than are looked at.
      if (scanned === this.#scannedMax) this.#after = [delivery.dueAt ?? 0, delivery.id];
      const count = counts.get(delivery.organizationId) ?? 0;
      if (count >= ATTEMPTS_PER_ORGANIZATION_MAX) continue;
      counts.set(delivery.organizationId, count + 1);
      chosen.push(delivery);
    }
    return chosen;
  }

  async #claim(due: readonly Delivery[]): Promise<Delivery[]> {
    const ids = due.map(({ id }) => id);
    return this.#deps.store.transaction([], async (tx) => {
      const now = this.#deps.clock.now();
      const claimed: Delivery[] = [];
      for (const delivery of await tx.getMany("deliveries", ids)) {
        if (delivery?.dueAt === undefined || delivery.dueAt > now) continue;
        await tx.put("deliveries", { ...delivery, dueAt: now + CLAIM_MS });
        claimed.push(delivery);
      }
      return claimed;
    });
  }

  async #try(delivery: Delivery): Promise<void> {
    const { store, clock, random } = this.#deps;
    const outcome = await attempt(this.#deps, delivery);
    const at = { now: clock.now(), chance: random.bytes(1).readUInt8() / 255 };
    await store.transaction([], async (tx) => {
      const current = await tx.get("deliveries", delivery.id);
      // Its webhook was deleted in between, or another process recorded an outcome first.
      if (current?.status === "pending") await tx.put("deliveries", afterAttempt(current, outcome, at));
    });
  }
}

async function attempt(deps: Deps, delivery: Delivery): Promise<AttemptOutcome> {
  if (delivery.mailTo !== undefined) return mail(deps, delivery, delivery.mailTo);
  const { id, body, webhookId = "" } = delivery;
  const webhook = await deps.store.get("webhooks", webhookId);
  if (!webhook) return postToSlack(deps, delivery, await deps.store.get("alerts", webhookId));
  const secret = deps.secrets.open(webhook.sealedSecret).toString("utf8");
  const headers = {
    "content-type": "application/json",
    "user-agent": USER_AGENT,
    ...signedHeaders({ id, body, secret, now: deps.clock.now() }),
  };
  return deps.sendWebhook({ url: webhook.url, headers, body });
}

async function postToSlack({ secrets, sendWebhook }: Deps, { body }: Delivery, alert: AlertRecord | undefined): Promise<AttemptOutcome> {
  if (alert?.sealedSlackUrl === undefined) return { kind: "failed", reason: "the webhook or alert was deleted" };
  const url = secrets.open(alert.sealedSlackUrl).toString("utf8");
  return sendWebhook({ url, headers: { "content-type": "application/json", "user-agent": USER_AGENT }, body });
}

async function mail({ mailer, config }: Deps, { subject = "", body }: Delivery, to: string): Promise<AttemptOutcome> {
  const sent = await mailer.send({ to, subject, text: body });
  // Without a mail server the mail is in the log, as documented, and a retry would change nothing.
  return sent || config.mail.smtpUrl === undefined
    ? { kind: "answered", status: 200 }
    : { kind: "failed", reason: "the mail server did not accept it" };
}
