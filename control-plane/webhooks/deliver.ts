import { type AttemptOutcome, afterAttempt } from "../domain/delivery.ts";
import type { Delivery } from "../domain/webhook-records.ts";
import type { ControlDeps } from "../services/deps.ts";
import { signedHeaders } from "./sign.ts";

type Deps = Pick<ControlDeps, "store" | "clock" | "random" | "logger" | "secrets" | "mailer" | "sendWebhook" | "config">;

/** How many are under way at the same time, of all organisations and of one: a receiver that does not answer holds up its own alone. */
const [AT_ONCE, OF_ONE] = [32, 4];
const LOOKED_AT = 2000;
/** Longer than an attempt lasts: after it another control plane may try. */
const CLAIM_MS = 60_000;

/** Sends what is due. At least once each: whoever dies between an answer and its note sends again, with the same webhook-id. */
export class Deliverer {
  readonly #deps: Deps;
  readonly #underWay = new Map<Promise<void>, string>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Begins what is due, and does not wait for it. */
  async begin(): Promise<void> {
    for (const delivery of await this.#claim(await this.#choose())) {
      const attempt = this.#try(delivery)
        .catch((error: unknown) => this.#deps.logger.warn({ deliveryId: delivery.id, error: String(error) }, "a delivery is tried again"))
        .finally(() => this.#underWay.delete(attempt));
      this.#underWay.set(attempt, delivery.organizationId);
    }
  }

  async idle(): Promise<void> {
    await Promise.all(this.#underWay.keys());
  }

  async #choose(): Promise<string[]> {
    const { store, clock } = this.#deps;
    const counts = new Map<string, number>();
    for (const organizationId of this.#underWay.values()) counts.set(organizationId, (counts.get(organizationId) ?? 0) + 1);
    const chosen: string[] = [];
    for await (const { id, organizationId } of store.scan("deliveries", { index: "byDue", before: clock.now() + 1, limit: LOOKED_AT })) {
      if (this.#underWay.size + chosen.length >= AT_ONCE) break;
      const count = counts.get(organizationId) ?? 0;
      if (count >= OF_ONE) continue;
      counts.set(organizationId, count + 1);
      chosen.push(id);
    }
    return chosen;
  }

  async #claim(ids: readonly string[]): Promise<Delivery[]> {
    if (ids.length === 0) return [];
    return this.#deps.store.transaction(async (tx) => {
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
    await store.transaction(async (tx) => {
      const current = await tx.get("deliveries", delivery.id);
      // Its webhook was deleted meanwhile, or another one was quicker.
      if (current?.status === "pending") await tx.put("deliveries", afterAttempt(current, outcome, at));
    });
  }
}

async function attempt(deps: Deps, delivery: Delivery): Promise<AttemptOutcome> {
  if (delivery.mailTo !== undefined) return mail(deps, delivery, delivery.mailTo);
  const webhook = await deps.store.get("webhooks", delivery.webhookId ?? "");
  if (!webhook) return { kind: "failed", reason: "the webhook is gone" };
  const { id, body } = delivery;
  const secret = deps.secrets.open(webhook.sealedSecret).toString("utf8");
  const headers = {
    "content-type": "application/json",
    "user-agent": "Tributary-Webhooks/1",
    ...signedHeaders({ id, body, secret, now: deps.clock.now() }),
  };
  return deps.sendWebhook({ url: webhook.url, headers, body });
}

async function mail({ mailer, config }: Deps, { subject = "", body }: Delivery, to: string): Promise<AttemptOutcome> {
  const sent = await mailer.send({ to, subject, text: body });
  // Without a mail server it is in the log, as the documentation says: there is nothing to try again.
  return sent || config.mail.smtpUrl === undefined
    ? { kind: "answered", status: 200 }
    : { kind: "failed", reason: "the mail server did not take it" };
}
