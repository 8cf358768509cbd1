import type { Clock } from "../../common/clock.ts";
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
/** What the scan of an organization may take in one sweep; the next one continues. */
const BUDGET_MS = 5_000;
const CLOCK_EVERY = 256;

/** Spend of the part of a period whose roll-ups rarely change. */
interface ClosedSpend {
  readonly definition: string;
  /** Of the first scan: late calls are counted by scanning the period again after an hour. */
  readonly readAt: number;
  until: number;
  spend: bigint;
}

/** The value of one alert while the roll-ups of its organization are read. */
interface Measure {
  readonly alert: AlertRecord;
  readonly from: number;
  add(rollup: Rollup): void;
  /** In the unit of the metric; undefined if there are too few calls to judge. */
  value(): bigint | undefined;
  /** The scan is complete up to here. */
  readUntil?(bucketAt: number): void;
}

/** Reads the values of alerts from roll-ups. */
export class AlertValues {
  readonly #reader: Reader;
  readonly #clock: Clock;
  readonly #closed = new Map<string, ClosedSpend>();

  constructor(reader: Reader, clock: Clock) {
    this.#reader = reader;
    this.#clock = clock;
  }

  /**
   * The values of all alerts of an organization, with one scan of its roll-ups. Undefined if the scan was stopped or takes too long: sums of
   * spend so far are not read again.
   */
  async valuesOf(
    organizationId: string,
    alerts: readonly AlertRecord[],
    { now, signal }: { now: number; signal: AbortSignal | undefined },
  ): Promise<((alert: AlertRecord) => bigint | undefined) | undefined> {
    const measures = new Map(alerts.map((alert) => [alert.id, this.#measure(alert, now)]));
    const all = [...measures.values()];
    const from = Math.min(...all.map((measure) => measure.from));
    const isOver = this.#overBudget(signal);
    for await (const rollup of this.#reader.scan("rollups", { index: "byOrganization", equals: [organizationId], from })) {
      if (isOver()) {
        // There may be more roll-ups of this quarter; the sums end before it.
        for (const measure of all) measure.readUntil?.(rollup.bucketAt);
        return undefined;
      }
      for (const measure of all) if (isWatched(measure, rollup)) measure.add(rollup);
    }
    for (const measure of all) measure.readUntil?.(Number.POSITIVE_INFINITY);
    return ({ id }) => measures.get(id)?.value();
  }

  #overBudget(signal: AbortSignal | undefined): () => boolean {
    const until = this.#clock.monotonicMs() + BUDGET_MS;
    let count = 0;
    return () => signal?.aborted === true || (++count % CLOCK_EVERY === 0 && this.#clock.monotonicMs() > until);
  }

  /** Forgets what it knows of alerts that do not exist any more. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const id of this.#closed.keys()) if (!ids.has(id)) this.#closed.delete(id);
  }

  #measure(alert: AlertRecord, now: number): Measure {
    switch (alert.metric) {
      case "error_rate":
        return errorRate(alert, now);
      case "latency_p95":
        return latency(alert, now);
      case "spend":
        return spendOf(alert, this.#closedSpend(alert, now), now);
    }
  }

  #closedSpend(alert: AlertRecord, now: number): ClosedSpend {
    const start = periodStart(alert.period === "day" ? "daily" : "monthly", now);
    const definition = `${start} ${alert.updatedAt}`;
    const known = this.#closed.get(alert.id);
    if (known?.definition === definition && now - known.readAt < HOUR_MS) return known;
    const closed = { definition, readAt: now, until: start, spend: 0n };
    this.#closed.set(alert.id, closed);
    return closed;
  }
}

/** Refused calls are not among the errors of a provider. */
function isWatched({ alert: { model, teamId }, from }: Measure, rollup: Rollup): boolean {
  if (rollup.status === "refused") return false;
  return rollup.bucketAt >= from && (model === undefined || rollup.model === model) && (teamId === undefined || rollup.teamId === teamId);
}

function errorRate(alert: AlertRecord, now: number): Measure {
  let [requests, errors] = [0, 0];
  return {
    alert,
    from: windowStart(alert, now),
    add: (rollup) => {
      requests += rollup.requests;
      errors += rollup.errors;
    },
    value: () => (requests < alert.minRequests ? undefined : BigInt(Math.round((errors / requests) * 10_000))),
  };
}

function latency(alert: AlertRecord, now: number): Measure {
  let counts: number[] = noLatencies();
  return {
    alert,
    from: windowStart(alert, now),
    add: ({ latencyCounts }) => {
      if (latencyCounts) counts = addLatencyCounts(counts, latencyCounts);
    },
    value: () => {
      const calls = counts.reduce((sum, count) => sum + count, 0);
      const latencyMs = latencyPercentile(counts, P95);
      return latencyMs === undefined || calls < alert.minRequests ? undefined : BigInt(Math.round(latencyMs));
    },
  };
}

/** Adds the quarters of an hour that are read and closed to `closed`, so that the next scan begins after them. */
function spendOf(alert: AlertRecord, closed: ClosedSpend, now: number): Measure {
  const closes = Math.floor((now - OPEN_MS) / ROLLUP_MS) * ROLLUP_MS;
  const known = closed.spend;
  const quarters = new Map<number, bigint>();
  return {
    alert,
    from: closed.until,
    add: ({ bucketAt, cost }) => {
      quarters.set(bucketAt, (quarters.get(bucketAt) ?? 0n) + cost);
    },
    value: () => [...quarters.values()].reduce((sum, cost) => sum + cost, known),
    readUntil: (bucketAt) => {
      const until = Math.min(bucketAt, closes);
      if (until <= closed.until) return;
      for (const [at, cost] of quarters) if (at < until) closed.spend += cost;
      closed.until = until;
    },
  };
}

/** Whole roll-ups that cover the window: up to a quarter of an hour more than its minutes. */
function windowStart({ windowMinutes }: AlertRecord, now: number): number {
  return Math.floor((now - windowMinutes * MINUTE_MS) / ROLLUP_MS) * ROLLUP_MS;
}
