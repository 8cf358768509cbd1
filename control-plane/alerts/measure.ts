import type { AlertRecord } from "../domain/alerts.ts";
import { periodStart } from "../domain/budgets.ts";
import { addLatencyCounts, latencyPercentile, noLatencies } from "../domain/latency.ts";
import type { Rollup } from "../domain/records.ts";
import { ROLLUP_MS } from "../domain/settlement.ts";
import type { Reader } from "../stores/store.ts";

const MINUTE_MS = 60_000;
const [HOUR_MS, P95] = [60 * MINUTE_MS, 0.95];
/** Roll-ups older than this rarely change: only calls that settle late are added to them. */
const OPEN_MS = 2 * HOUR_MS;

/** Spend of the part of a period whose roll-ups rarely change. */
interface ClosedSpend {
  readonly definition: string;
  readonly until: number;
  readonly readAt: number;
  readonly spend: bigint;
}

/** Reads the values of alerts from roll-ups. */
export class AlertValues {
  readonly #reader: Reader;
  readonly #closed = new Map<string, ClosedSpend>();

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** The value in the unit of the metric; undefined if there are too few calls to judge. */
  async valueOf(alert: AlertRecord, now: number): Promise<bigint | undefined> {
    switch (alert.metric) {
      case "error_rate":
        return this.#errorRate(alert, now);
      case "latency_p95":
        return this.#latency(alert, now);
      case "spend":
        return this.#spend(alert, now);
    }
  }

  /** Forgets what it knows of alerts that do not exist any more. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const id of this.#closed.keys()) if (!ids.has(id)) this.#closed.delete(id);
  }

  async #errorRate(alert: AlertRecord, now: number): Promise<bigint | undefined> {
    let [requests, errors] = [0, 0];
    for await (const rollup of this.#rollups(alert, { from: windowStart(alert, now) })) {
      requests += rollup.requests;
      errors += rollup.errors;
    }
    return requests < alert.minRequests ? undefined : BigInt(Math.round((errors / requests) * 10_000));
  }

  async #latency(alert: AlertRecord, now: number): Promise<bigint | undefined> {
    let counts: number[] = noLatencies();
    for await (const { latencyCounts } of this.#rollups(alert, { from: windowStart(alert, now) })) {
      if (latencyCounts) counts = addLatencyCounts(counts, latencyCounts);
    }
    const calls = counts.reduce((sum, count) => sum + count, 0);
    const latencyMs = latencyPercentile(counts, P95);
    return latencyMs === undefined || calls < alert.minRequests ? undefined : BigInt(Math.round(latencyMs));
  }

  async #spend(alert: AlertRecord, now: number): Promise<bigint> {
    const start = periodStart(alert.period === "day" ? "daily" : "monthly", now);
    const closed = await this.#closedSpend(alert, { start, now });
    return closed.spend + (await this.#spendWithin(alert, { from: closed.until }));
  }

  /** Read again every hour, because calls that settled late are added to roll-ups of before. */
  async #closedSpend(alert: AlertRecord, { start, now }: { start: number; now: number }): Promise<ClosedSpend> {
    const definition = `${start} ${alert.updatedAt}`;
    const known = this.#closed.get(alert.id);
    if (known?.definition === definition && now - known.readAt < HOUR_MS) return known;
    const until = Math.max(start, Math.floor((now - OPEN_MS) / ROLLUP_MS) * ROLLUP_MS);
    const spend = until === start ? 0n : await this.#spendWithin(alert, { from: start, before: until });
    const closed = { definition, until, readAt: now, spend };
    this.#closed.set(alert.id, closed);
    return closed;
  }

  async #spendWithin(alert: AlertRecord, window: Window): Promise<bigint> {
    let spend = 0n;
    for await (const { cost } of this.#rollups(alert, window)) spend += cost;
    return spend;
  }

  /** The roll-ups of calls that were made: refused ones are not among the errors of a provider. */
  async *#rollups({ organizationId, model, teamId }: AlertRecord, window: Window): AsyncIterable<Rollup> {
    for await (const rollup of this.#reader.scan("rollups", { index: "byOrganization", equals: [organizationId], ...window })) {
      if (rollup.status === "refused") continue;
      if ((model === undefined || rollup.model === model) && (teamId === undefined || rollup.teamId === teamId)) yield rollup;
    }
  }
}

interface Window {
  readonly from: number;
  readonly before?: number;
}

/** Whole roll-ups that cover the window: up to a quarter of an hour more than its minutes. */
function windowStart({ windowMinutes }: AlertRecord, now: number): number {
  return Math.floor((now - windowMinutes * MINUTE_MS) / ROLLUP_MS) * ROLLUP_MS;
}
