import { slotOf } from "../../common/slots.ts";
import { type AlertRecord, isNews, judged } from "../domain/alerts.ts";
import { NotOwner } from "../domain/not-owner.ts";
import type { ControlDeps } from "../services/deps.ts";
import { collect } from "../stores/page.ts";
import { organizationScope } from "../stores/scopes.ts";
import type { Transaction } from "../stores/store.ts";
import { writeAudit } from "../writes/audit.ts";
import { alertDeliveries } from "./alert-deliveries.ts";
import { AlertValues } from "./measure.ts";

type Deps = Pick<ControlDeps, "store" | "clock" | "random" | "logger">;

/** Judges the alerts of the organizations whose slots this control plane owns, so that with several planes each alert fires once. */
export class AlertEvaluator {
  readonly #deps: Deps;
  readonly #values: AlertValues;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#values = new AlertValues(deps.store);
  }

  /** One after the other, so that at most one scan of roll-ups runs beside settlements. */
  async run(now: number): Promise<void> {
    const { store, logger } = this.#deps;
    const own = (await collect(store.scan("alerts"))).filter(({ organizationId }) => store.owns(slotOf(organizationId, store.slots)));
    this.#values.keepOnly(new Set(own.map(({ id }) => id)));
    for (const alert of own) {
      try {
        await this.#evaluate(alert, now);
      } catch (error) {
        // Another plane took the slot and judges it. Any other failure must not hold up other alerts.
        if (!(error instanceof NotOwner))
          logger.warn({ alertId: alert.id, error: String(error) }, "an alert was not judged; it is tried again");
      }
    }
  }

  async #evaluate(alert: AlertRecord, now: number): Promise<void> {
    const value = await this.#values.valueOf(alert, now);
    if (!isNews(alert, judged(alert, value, now), now)) return;
    const { store } = this.#deps;
    await store.transaction(["audit", organizationScope(store, alert.organizationId)], async (tx) => {
      const current = await tx.get("alerts", alert.id);
      // Changed or deleted meanwhile: the value is that of another rule.
      if (current?.updatedAt !== alert.updatedAt) return;
      const after = judged(current, value, now);
      await tx.put("alerts", after);
      if (after.state !== current.state) await this.#announce(tx, after, now);
    });
  }

  async #announce(tx: Transaction, alert: AlertRecord, now: number): Promise<void> {
    const type = alert.state === "firing" ? "alert.firing" : "alert.resolved";
    for (const delivery of await alertDeliveries(this.#deps, tx, { alert, type, now })) await tx.insert("deliveries", delivery);
    const { id: target, organizationId, threshold, value } = alert;
    await writeAudit(tx, { actorKind: "system", action: type, target, organizationId, requestId: "", details: { threshold, value } }, now);
  }
}
