import { monitorEventLoopDelay } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import { systemClock } from "../../common/clock.ts";
import { silentLogger } from "../../common/logger.ts";
import { Reservations } from "../../control-plane/credit/reservations.ts";
import { Settler } from "../../control-plane/credit/settler.ts";
import type { UsageRow } from "../../control-plane/domain/records.ts";
import { usageContentHash } from "../../control-plane/domain/settlement.ts";
import { collect } from "../../control-plane/stores/page.ts";
import type { Store } from "../../control-plane/stores/store.ts";
import { callIdAt } from "./call-ids.ts";

const TEAMS = 20;
const KEYS = 200;
const BATCH_ROWS = 200;
const BATCHES_AT_ONCE = 4;

/** A call as an edge reports it: spread over teams, keys and time. */
function benchRow(index: number, organizationId: string): UsageRow {
  const createdAt = 1_760_000_000_000 + index * 97;
  const content: Omit<UsageRow, "contentHash"> = {
    id: callIdAt(createdAt, index),
    createdAt,
    completedAt: createdAt + 500,
    organizationId,
    teamId: `team_${String(index % TEAMS).padStart(33, "0")}`,
    teamName: `team ${index % TEAMS}`,
    apiKeyId: `key_${organizationId.slice(-5)}${String(index % KEYS).padStart(28, "0")}`,
    apiKeyName: `key ${index % KEYS}`,
    maskedKey: "sk-...b3nc",
    userId: 1,
    endpoint: "/v1/chat/completions",
    model: index % 3 === 0 ? "echo" : "echo-large",
    deploymentId: "model_000000000000000000000000000000000",
    provider: "echo",
    type: "chat",
    stream: index % 2 === 0,
    status: "success",
    httpStatus: 200,
    usage: { input: 100, cachedInput: 20, cacheWrite: 0, output: 50, reasoning: 0, audio: 0, total: 170, source: "provider" },
    cost: 200_000n + BigInt(index % 1000),
    priceVersion: 1,
    cacheHit: false,
    attempts: 1,
    latencyMs: 500,
    firstTokenMs: 100,
    overheadUs: 300,
    tags: [],
  };
  return { ...content, contentHash: usageContentHash(content) };
}

export interface SettleFigures {
  rows: number;
  rowsPerSecond: number;
  /** CPU of this process per 1,000 rows, which is more stable than the rate on a shared machine. */
  cpuSeconds: number;
  loopDelayP99Ms: number;
}

/** Settles `rows` calls at full rate, in batches as edges send them, and measures the event loop. */
export async function measureSettlement(
  store: Store,
  options: { first: number; rows: number; organizationId: string },
): Promise<SettleFigures> {
  const reservations = new Reservations({ reader: store, clock: systemClock, policy: "document" });
  const settler = new Settler({ store, reservations, clock: systemClock, logger: silentLogger });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let next = options.first;
  const last = options.first + options.rows;
  let settleMs = 0;
  let cpuMicroseconds = 0;
  delay.enable();
  while (next < last) {
    const batches = Array.from({ length: BATCHES_AT_ONCE }, () =>
      Array.from({ length: Math.min(BATCH_ROWS, Math.max(0, last - next)) }, () => benchRow(next++, options.organizationId)),
    ).filter((batch) => batch.length > 0);
    // A turn of the event loop, so that creating the rows (which an edge does in another process) is in neither figure.
    await nextTurn();
    const [startedMs, cpuBefore] = [systemClock.monotonicMs(), process.cpuUsage()];
    await Promise.all(batches.map((batch) => settler.settle(batch)));
    settleMs += systemClock.monotonicMs() - startedMs;
    const { user, system } = process.cpuUsage(cpuBefore);
    cpuMicroseconds += user + system;
    await nextTurn();
  }
  delay.disable();
  return {
    rows: options.rows,
    rowsPerSecond: Math.round((options.rows / settleMs) * 1000),
    cpuSeconds: cpuMicroseconds / 1000 / options.rows,
    loopDelayP99Ms: delay.percentile(99) / 1e6,
  };
}

/** p50 and p99 of reading a page of 50 rows by team and time, at random positions. */
export async function measurePages(store: Store, pages: number): Promise<{ p50Ms: number; p99Ms: number }> {
  const times: number[] = [];
  for (let index = 0; index < pages; index++) {
    const teamId = `team_${String((index * 7) % TEAMS).padStart(33, "0")}`;
    const before = 1_760_000_000_000 + ((index * 7919) % 1000) * 97_000;
    const startedMs = systemClock.monotonicMs();
    const rows = await collect(store.scan("usage", { index: "byTeam", equals: [teamId], before, reverse: true, limit: 50 }));
    times.push(systemClock.monotonicMs() - startedMs);
    if (index > 10 && rows.length === 0 && before > 1_760_000_100_000) throw new Error("a page was empty that should not be");
  }
  times.sort((left, right) => left - right);
  return { p50Ms: times[Math.floor(pages * 0.5)] ?? 0, p99Ms: times[Math.floor(pages * 0.99)] ?? 0 };
}
