import { Registry } from "prom-client";
import { systemClock } from "../common/clock.ts";
import { readExposition } from "../common/metrics/exposition-fixture.ts";
import { addControlFigures, measureTransactions } from "./metrics.ts";
import type { Store, Transaction } from "./stores/store.ts";

const FIGURES = {
  settler: { figures: { batches: 2, calls: { settled: 10, repeated: 3, refused: 1 } }, waiting: 40 },
  leases: { figures: { granted: 5, refused: 6, unchanged: 7 } },
  feed: { figures: { rows: 8, lagMs: 250, ageMs: 1500 } },
  edges: { connected: 4 },
  slots: { count: 256, isOwned: (slot: number) => slot < 100, planes: () => [{ id: "a", address: "a:1" }] },
  reservations: { size: 9 },
  verifications: { figures: { ok: 3, failed: 1 } },
  backups: { newestAt: 1_700_000_000_000 },
  archiver: { figures: { rows: 12, oldestAt: 1_600_000_000_000 } },
  config: { backupDir: "backups", backupHours: 6, usageKeptDays: 90 },
};

const seriesOf = async (registry: Registry) => (await registry.metrics()).split("\n").filter((line) => /^[a-z]/.test(line));

test("the control plane's figures are counters and gauges with bounded labels, clean by promtool's rules", async () => {
  const registry = new Registry();
  addControlFigures(registry, FIGURES);
  expect(readExposition(await registry.metrics()).problems).toEqual([]);
  expect(await seriesOf(registry)).toEqual([
    'tributary_settlement_calls_total{outcome="settled"} 10',
    'tributary_settlement_calls_total{outcome="repeated"} 3',
    'tributary_settlement_calls_total{outcome="refused"} 1',
    "tributary_settlement_batches_total 2",
    "tributary_settlement_queue_rows 40",
    'tributary_lease_requests_total{outcome="granted"} 5',
    'tributary_lease_requests_total{outcome="refused"} 6',
    'tributary_lease_requests_total{outcome="unchanged"} 7',
    "tributary_feed_rows_total 8",
    "tributary_feed_lag_seconds 0.25",
    "tributary_feed_age_seconds 1.5",
    "tributary_edges_connected 4",
    "tributary_slots_owned 100",
    "tributary_slots 256",
    "tributary_control_planes 1",
    "tributary_reservations 9",
    'tributary_ledger_verifications_total{outcome="ok"} 3',
    'tributary_ledger_verifications_total{outcome="failed"} 1',
    "tributary_backup_last_timestamp_seconds 1700000000",
    "tributary_backup_interval_seconds 21600",
    "tributary_usage_archived_rows_total 12",
    "tributary_usage_oldest_timestamp_seconds 1600000000",
  ]);
});

test("a control plane that makes no backups and no archives has no metrics of them, and one without a backup so far has made it at 0", async () => {
  const without = new Registry();
  addControlFigures(without, { ...FIGURES, config: { backupDir: undefined, backupHours: 6, usageKeptDays: undefined } });
  expect(await without.metrics()).not.toMatch(/tributary_(backup|usage)/);
  const none = new Registry();
  addControlFigures(none, { ...FIGURES, backups: { newestAt: undefined } });
  expect(await seriesOf(none)).toContain("tributary_backup_last_timestamp_seconds 0");
});

test("a transaction is measured with its attempts, also one that fails; its result and its error are unchanged", async () => {
  const registry = new Registry();
  let nowMs = 0;
  const conflicting: Pick<Store, "transaction"> = {
    transaction: async (_scopes, work) => {
      await work({} as Transaction);
      nowMs += 30;
      return work({} as Transaction);
    },
  };
  measureTransactions(conflicting, { registry, clock: { ...systemClock, monotonicMs: () => nowMs }, name: "mongodb" });
  const running = conflicting.transaction("audit", async () => "result");
  expect(await seriesOf(registry)).toContain('tributary_transactions_open{store="mongodb"} 1');
  await expect(running).resolves.toBe("result");
  const fail = async () => {
    throw new Error("no such record");
  };
  await expect(conflicting.transaction("audit", fail)).rejects.toThrow("no such record");
  expect(readExposition(await registry.metrics()).problems).toEqual([]);
  expect(await seriesOf(registry)).toEqual(
    expect.arrayContaining([
      'tributary_transaction_attempts_total{store="mongodb"} 3',
      'tributary_transaction_seconds_count{store="mongodb"} 2',
      'tributary_transaction_seconds_sum{store="mongodb"} 0.03',
      'tributary_transaction_seconds_bucket{le="0.025",store="mongodb"} 1',
      'tributary_transactions_open{store="mongodb"} 0',
    ]),
  );
});
