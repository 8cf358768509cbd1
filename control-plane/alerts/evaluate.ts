import { slotOf } from "../../common/slots.ts";
import { type AlertRecord, isNews, judged } from "../domain/alerts.ts";
import { NotOwner } from "../domain/not-owner.ts";
import type { ControlDeps } from "../services/deps.ts";
import { organizationScope } from "../stores/scopes.ts";
import type { Transaction } from "../stores/store.ts";
import { writeAudit } from "../writes/audit.ts";
import { alertDeliveries } from "./alert-deliveries.ts";
import { AlertValues } from "./measure.ts";

type Deps = Pick<ControlDeps, "store" | "clock" | "random" | "logger">;

interface Judging {
  readonly measured: (alert: AlertRecord) => bigint | undefined;
  readonly now: number;
  readonly signal: AbortSignal | undefined;
}

/** Judges the alerts of the organizations whose slots this control plane owns, so that with several planes each alert fires once. */
export class AlertEvaluator {
  readonly #deps: Deps;
  readonly #values: AlertValues;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#values = new AlertValues(deps.store, deps.clock);
  }

  /** One organization after the other, so that at most one scan of roll-ups runs beside settlements; ends early if the signal aborts. */
  async run(signal?: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const own = await this.#ownAlerts();
    for (const [organizationId, alerts] of own) {
      if (signal?.aborted) return;
      // A sweep may take long: each organization has its own time.
      const now = clock.now();
      try {
        const measured = await this.#values.valuesOf(organizationId, alerts, { now, signal });
        if (measured) await this.#judgeAll(alerts, { measured, now, signal });
        else if (!signal?.aborted) logger.warn({ organizationId }, "reading the roll-ups for alerts takes long; the next sweep continues");
      } catch (error) {
        logger.warn({ organizationId, error: String(error) }, "the alerts of an organization were not judged; they are tried again");
      }
    }
  }

  /** By organization. */
  async #ownAlerts(): Promise<Map<string, AlertRecord[]>> {
    const { store } = this.#deps;
    const own = new Map<string, AlertRecord[]>();
    const ids = new Set<string>();
    for await (const alert of store.scan("alerts")) {
      const { id, organizationId } = alert;
      if (!store.owns(slotOf(organizationId, store.slots))) continue;
      ids.add(id);
      const known = own.get(organizationId);
      if (known) known.push(alert);
      else own.set(organizationId, [alert]);
    }
    this.#values.keepOnly(ids);
    return own;
  }

  async #judgeAll(alerts: readonly AlertRecord[], { measured, now, signal }: Judging): Promise<void> {
    for (const alert of alerts) {
      if (signal?.aborted) return;
      try {
        await this.#judge(alert, measured(alert), now);
      } catch (error) {
        // Another plane took the slot and judges it. Any other failure must not hold up other alerts.
        if (!(error instanceof NotOwner))
          this.#deps.logger.warn({ alertId: alert.id, error: String(error) }, "an alert was not judged; it is tried again");
      }
    }
  }

  async #judge(alert: AlertRecord, value: bigint | undefined, now: number): Promise<void> {
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
