import { Counter, Histogram, Registry } from "prom-client";
import type { Clock } from "../common/clock.ts";
import { addCounter, addGauge, byLabel } from "../common/metrics/read-metrics.ts";
import { type MetricsServer, type ProcessState, serveProcessMetrics } from "../common/metrics/serve-metrics.ts";
import { addSpanFigures } from "../common/tracing/open-exporter.ts";
import type { SpanExporter } from "../common/tracing/span-exporter.ts";
import type { UsageArchiver } from "./archive/usage-archiver.ts";
import type { Backups } from "./backup/backups.ts";
import type { ControlConfig } from "./config.ts";
import type { Leases } from "./credit/leases.ts";
import type { Reservations } from "./credit/reservations.ts";
import type { Settler } from "./credit/settler.ts";
import type { Edges } from "./feed/edges.ts";
import type { FeedHub } from "./feed/hub.ts";
import type { Verifications } from "./proof/verifications.ts";
import type { ControlDeps } from "./services/deps.ts";
import type { Slots } from "./slots/slots.ts";
import type { Store } from "./stores/store.ts";

/** What the figures are read from. */
export interface ControlFigures {
  readonly settler: Pick<Settler, "figures" | "waiting">;
  readonly leases: Pick<Leases, "figures">;
  readonly feed: Pick<FeedHub, "figures">;
  readonly edges: Pick<Edges, "connected">;
  readonly slots: Pick<Slots, "count" | "isOwned" | "planes">;
  readonly reservations: Pick<Reservations, "size">;
  readonly verifications: Pick<Verifications, "figures">;
  readonly backups: Pick<Backups, "newestAt">;
  readonly archiver: Pick<UsageArchiver, "figures">;
  readonly config: Pick<ControlConfig, "backupDir" | "backupHours" | "usageKeptDays">;
}

const TRANSACTION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Serves the metrics and probes of the control plane if METRICS_PORT is set; without it nothing is measured. */
export async function startMetrics(
  deps: ControlDeps,
  { state, exporter }: { state: () => ProcessState; exporter: SpanExporter | undefined },
): Promise<MetricsServer | undefined> {
  const { config, clock, store } = deps;
  if (config.metricsPort === undefined) return undefined;
  const registry = new Registry();
  addControlFigures(registry, deps);
  if (exporter) addSpanFigures(registry, exporter);
  measureTransactions(store, { registry, clock, name: config.mongo ? "mongodb" : "embedded" });
  return serveProcessMetrics(config, registry, { role: "control-plane", state });
}

/** Adds counts and states that the parts of the control plane keep anyway. */
export function addControlFigures(registry: Registry, figures: ControlFigures): void {
  const { settler, leases, feed, edges, slots, reservations, verifications } = figures;
  const counter = (name: string, help: string, read: () => number) => addCounter(registry, { name, help, read });
  const gauge = (name: string, help: string, read: () => number) => addGauge(registry, { name, help, read });
  addCounter(registry, {
    name: "tributary_settlement_calls_total",
    help: "Calls that edges reported: settled, repeated (the same report again) or refused (other content for a known call).",
    labelNames: ["outcome"],
    read: () => byLabel("outcome", settler.figures.calls),
  });
  counter("tributary_settlement_batches_total", "Committed transactions of settlements.", () => settler.figures.batches);
  gauge("tributary_settlement_queue_rows", "Reported calls that no transaction has taken yet.", () => settler.waiting);
  addCounter(registry, {
    name: "tributary_lease_requests_total",
    help: "Lease requests of edges: granted credit, refused (none for a call that needs some) or unchanged.",
    labelNames: ["outcome"],
    read: () => byLabel("outcome", leases.figures),
  });
  counter("tributary_feed_rows_total", "Rows of the change feed that were sent to edges.", () => feed.figures.rows);
  gauge(
    "tributary_feed_lag_seconds",
    "Time from the write of a feed row to its sending: the longest of the last message with rows.",
    () => feed.figures.lagMs / 1000,
  );
  gauge(
    "tributary_feed_age_seconds",
    "Time since the feed was last read; above a few seconds the store does not answer.",
    () => feed.figures.ageMs / 1000,
  );
  gauge("tributary_edges_connected", "Edges that watch this control plane.", () => edges.connected);
  gauge("tributary_slots_owned", "Slots of organizations that this control plane owns.", () => ownedOf(slots));
  gauge("tributary_slots", "Slots of organizations of this store; each should have an owner.", () => slots.count);
  gauge("tributary_control_planes", "Control planes of this store that live, as this one sees it.", () => slots.planes().length);
  gauge("tributary_reservations", "Running calls whose credit is reserved one by one.", () => reservations.size);
  addCounter(registry, {
    name: "tributary_ledger_verifications_total",
    help: "Verifications of the ledger by this control plane: ok, or failed because a record is wrong.",
    labelNames: ["outcome"],
    read: () => byLabel("outcome", verifications.figures),
  });
  if (figures.config.backupDir !== undefined) addBackupFigures(registry, figures);
  if (figures.config.usageKeptDays !== undefined) addArchiveFigures(registry, figures);
}

/** Only where old usage rows are archived. */
function addArchiveFigures(registry: Registry, { archiver }: Pick<ControlFigures, "archiver">): void {
  addCounter(registry, {
    name: "tributary_usage_archived_rows_total",
    help: "Usage rows that this control plane moved from the log to archives.",
    read: () => archiver.figures.rows,
  });
  addGauge(registry, {
    name: "tributary_usage_oldest_timestamp_seconds",
    help: "When the oldest usage row of the organizations of this control plane was created, as of its last look; 0 if there is none.",
    read: () => (archiver.figures.oldestAt ?? 0) / 1000,
  });
}

/** Only where the control plane makes backups by itself. */
function addBackupFigures(registry: Registry, { backups, config }: Pick<ControlFigures, "backups" | "config">): void {
  addGauge(registry, {
    name: "tributary_backup_last_timestamp_seconds",
    help: "When the newest backup in BACKUP_DIR was made; 0 if there is none.",
    read: () => (backups.newestAt ?? 0) / 1000,
  });
  addGauge(registry, {
    name: "tributary_backup_interval_seconds",
    help: "BACKUP_HOURS: the time from one backup to the next.",
    read: () => config.backupHours * 3600,
  });
}

function ownedOf(slots: ControlFigures["slots"]): number {
  let owned = 0;
  for (let slot = 0; slot < slots.count; slot++) if (slots.isOwned(slot)) owned++;
  return owned;
}

/** Measures every transaction of a store from now on, whichever adapter it is: each run of its work is an attempt. */
export function measureTransactions(
  store: Pick<Store, "transaction">,
  { registry, clock, name }: { registry: Registry; clock: Clock; name: "mongodb" | "embedded" },
): void {
  const options = { labelNames: ["store"], registers: [registry] };
  const seconds = new Histogram({
    ...options,
    name: "tributary_transaction_seconds",
    help: "Time of a transaction, waiting for its turn included.",
    buckets: TRANSACTION_BUCKETS_SECONDS,
  });
  const attempts = new Counter({
    ...options,
    name: "tributary_transaction_attempts_total",
    help: "Runs of transactions' work; more than transactions if some conflicted.",
  });
  let open = 0;
  addGauge(registry, {
    name: "tributary_transactions_open",
    help: "Transactions that run or wait for their turn.",
    labelNames: ["store"],
    read: () => [{ labels: { store: name }, value: open }],
  });
  const transaction = store.transaction.bind(store);
  store.transaction = async (scopes, work) => {
    const begunMs = clock.monotonicMs();
    open++;
    try {
      return await transaction(scopes, (tx) => {
        attempts.inc({ store: name });
        return work(tx);
      });
    } finally {
      open--;
      seconds.observe({ store: name }, (clock.monotonicMs() - begunMs) / 1000);
    }
  };
}
