/** Series that make an alert fire, and when; times as promtool reads them. */
export interface AlertCase {
  readonly alert: string;
  /** Time between samples, and between evaluations. */
  readonly interval: string;
  /** Values by series, in promtool's notation: `0+10x3` is 0 10 20 30. */
  readonly series: Readonly<Record<string, string>>;
  /** Still quiet. */
  readonly quietAt?: string;
  readonly firing?: { readonly at: string; readonly labels: Readonly<Record<string, string>>; readonly summary: string };
}

const A = 'instance="a:1"';
const instance = "a:1";

const roleDown = (alert: string, job: string, role: string): AlertCase[] => [
  {
    alert,
    interval: "15s",
    series: { [`up{job="${job}",${A}}`]: "1 1 0x10", [`up{job="${job}",instance="b:1"}`]: "1x12" },
    quietAt: "45s",
    firing: { at: "60s", labels: { job, instance }, summary: `The ${role} a:1 does not answer.` },
  },
  {
    alert,
    interval: "15s",
    series: { 'up{job="another"}': "1x12" },
    firing: { at: "60s", labels: { job }, summary: `The ${role} (none is scraped) does not answer.` },
  },
];

const histogram = (name: string, labels: string, counts: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(counts).map(([le, values]) => [`${name}_bucket{${labels},le="${le}"}`, values]));

/** Every alert fires in one of these. */
export const ALERT_CASES: readonly AlertCase[] = [
  ...roleDown("TributaryEdgeDown", "tributary-edge", "edge"),
  ...roleDown("TributaryControlPlaneDown", "tributary-control-plane", "control plane"),
  ...roleDown("TributaryTrainerDown", "tributary-trainer", "trainer node"),
  ...roleDown("TributaryCoordinatorDown", "tributary-coordinator", "coordinator"),
  {
    alert: "TributaryEdgeNotReady",
    interval: "15s",
    series: { [`tributary_ready{job="tributary-edge",${A}}`]: "1 0x10", 'tributary_ready{job="tributary-trainer"}': "0x10" },
    quietAt: "60s",
    firing: { at: "75s", labels: { job: "tributary-edge", instance }, summary: "The edge a:1 runs, but accepts no calls." },
  },
  {
    alert: "TributaryEventLoopSlow",
    interval: "15s",
    series: { [`nodejs_eventloop_lag_p99_seconds{job="tributary-edge",${A}}`]: "0.9x30" },
    quietAt: "285s",
    firing: {
      at: "5m",
      labels: { job: "tributary-edge", instance },
      summary: "a:1 is overloaded: its event loop is 900ms late.",
    },
  },
  {
    alert: "TributaryOverloaded",
    interval: "15s",
    series: { [`tributary_overload_refusals_total{${A}}`]: "0+60x30" },
    quietAt: "2m",
    firing: { at: "3m", labels: { instance }, summary: "The edge a:1 refuses 4 calls per second, because it has more than it can serve." },
  },
  {
    alert: "TributaryDiskNearlyFull",
    interval: "1m",
    series: { [`tributary_disk_free_bytes{${A}}`]: "5x10", [`tributary_disk_size_bytes{${A}}`]: "100x10" },
    quietAt: "4m",
    firing: { at: "5m", labels: { instance }, summary: "The disk of a:1 has 5% left." },
  },
  {
    alert: "TributaryCertificateEndsSoon",
    interval: "1m",
    series: { [`tributary_tls_certificate_expiry_timestamp_seconds{${A}}`]: "1000000x20" },
    quietAt: "9m",
    firing: { at: "10m", labels: { instance }, summary: "The certificate of a:1 ends in 11d 13h 36m 40s." },
  },
  {
    alert: "TributaryCertificateEndsSoon",
    interval: "1m",
    series: { [`tributary_tls_certificate_expiry_timestamp_seconds{${A}}`]: "1300000x20" },
    quietAt: "20m",
  },
  {
    alert: "TributaryStoreUnreachable",
    interval: "15s",
    series: { [`tributary_feed_age_seconds{${A}}`]: "1 11 26 41" },
    quietAt: "15s",
    firing: { at: "30s", labels: { instance }, summary: "The control plane a:1 has not been able to read its store for 26s." },
  },
  {
    alert: "TributarySlotsWithoutOwner",
    interval: "15s",
    series: {
      [`tributary_slots_owned{${A}}`]: "128x20",
      'tributary_slots_owned{instance="b:1"}': "128 128 0x20",
      [`tributary_slots{${A}}`]: "256x20",
    },
    quietAt: "75s",
    firing: { at: "90s", labels: {}, summary: "Only 128 slots have a control plane; calls of the other organizations wait." },
  },
  {
    alert: "TributaryMirrorStale",
    interval: "15s",
    series: { [`tributary_mirror_age_seconds{${A}}`]: "1 16 31 46" },
    quietAt: "15s",
    firing: { at: "30s", labels: { instance }, summary: "The edge a:1 has received nothing from a control plane for 31s." },
  },
  {
    alert: "TributaryJournalLag",
    interval: "15s",
    series: { [`tributary_settlement_lag_seconds{${A}}`]: "0 70x10" },
    quietAt: "60s",
    firing: { at: "75s", labels: { instance }, summary: "Calls at a:1 have waited 1m 10s for their settlement." },
  },
  {
    alert: "TributaryUnsettledCallsGrowing",
    interval: "1m",
    series: { [`tributary_settlements_pending{${A}}`]: "0+1000x20" },
    quietAt: "6m",
    firing: { at: "7m", labels: { instance }, summary: "7000 calls at a:1 wait for their settlement, and they become more." },
  },
  {
    alert: "TributaryUnsettledCallsGrowing",
    interval: "1m",
    series: { [`tributary_settlements_pending{${A}}`]: "20000-500x30" },
    quietAt: "20m",
  },
  {
    alert: "TributarySettlementRefused",
    interval: "1m",
    series: { [`tributary_settlement_calls_total{outcome="refused",${A}}`]: "0 0 1x10" },
    quietAt: "1m",
    firing: {
      at: "2m",
      labels: { outcome: "refused", instance },
      summary: "The ledger refused a call that was settled before with other content.",
    },
  },
  {
    alert: "TributaryLedgerVerifyFailed",
    interval: "1m",
    series: { [`tributary_ledger_verifications_total{outcome="failed",${A}}`]: "0 0 1x10" },
    quietAt: "1m",
    firing: { at: "2m", labels: { outcome: "failed", instance }, summary: "A verification of the ledger found a wrong record." },
  },
  {
    alert: "TributaryTransactionsSlow",
    interval: "1m",
    series: histogram("tributary_transaction_seconds", `store="mongodb",${A}`, { "2.5": "0x20", "5": "0+10x20", "+Inf": "0+10x20" }),
    quietAt: "5m",
    firing: {
      at: "6m",
      labels: { store: "mongodb", instance },
      summary: "One in a hundred transactions of a:1 takes more than 4.975s.",
    },
  },
  {
    alert: "TributaryBackupTooOld",
    interval: "1m",
    series: { [`tributary_backup_last_timestamp_seconds{${A}}`]: "0x60", [`tributary_backup_interval_seconds{${A}}`]: "600x60" },
    quietAt: "30m",
    firing: { at: "31m", labels: { instance }, summary: "The newest backup is 31m 0s old." },
  },
  {
    alert: "TributaryCallErrors",
    interval: "1m",
    series: {
      [`tributary_calls_total{model="m",provider="p",status="error",${A}}`]: "0+10x20",
      [`tributary_calls_total{model="m",provider="p",status="success",${A}}`]: "0+90x20",
      [`tributary_calls_total{model="m",provider="p",status="refused",${A}}`]: "0+900x20",
    },
    quietAt: "5m",
    firing: { at: "6m", labels: {}, summary: "10% of all calls fail." },
  },
  {
    alert: "TributaryProviderErrors",
    interval: "1m",
    series: {
      [`tributary_upstream_errors_total{model="m",provider="p",status="503",${A}}`]: "0+30x20",
      [`tributary_calls_total{model="m",provider="p",status="success",${A}}`]: "0+70x20",
      [`tributary_upstream_errors_total{model="m",provider="q",status="400",${A}}`]: "0+90x20",
      [`tributary_calls_total{model="m",provider="q",status="success",${A}}`]: "0+10x20",
    },
    quietAt: "5m",
    firing: { at: "6m", labels: { provider: "p" }, summary: "30% of the attempts at p fail." },
  },
  {
    alert: "TributaryFirstTokenSlow",
    interval: "1m",
    series: histogram("tributary_call_first_token_seconds", `model="m",provider="p",${A}`, {
      "5": "0x30",
      "15": "0+10x30",
      "+Inf": "0+10x30",
    }),
    quietAt: "10m",
    firing: { at: "11m", labels: { model: "m", provider: "p" }, summary: "One in twenty streams of m at p begins after more than 14.5s." },
  },
  {
    alert: "TributaryCoordinatorCannotGetWork",
    interval: "30s",
    series: {
      [`tributary_coordinator_claim_requests_total{outcome="failed",${A}}`]: "0+60x20",
      [`tributary_coordinator_claim_requests_total{outcome="answered",${A}}`]: "10x20",
    },
    quietAt: "1m",
    firing: { at: "90s", labels: { outcome: "failed", instance }, summary: "The coordinator a:1 gets no work from the control plane." },
  },
  {
    alert: "TributaryCoordinatorCannotGetWork",
    interval: "30s",
    series: {
      [`tributary_coordinator_claim_requests_total{outcome="failed",${A}}`]: "0+1x20",
      [`tributary_coordinator_claim_requests_total{outcome="answered",${A}}`]: "0+60x20",
    },
    quietAt: "5m",
  },
  {
    alert: "TributaryRoundsFailing",
    interval: "1m",
    series: { [`tributary_coordinator_rounds_total{outcome="failed",${A}}`]: "0 0 1x10" },
    quietAt: "1m",
    firing: {
      at: "2m",
      labels: { outcome: "failed", instance },
      summary: "A round of the coordinator a:1 failed, and its federation with it.",
    },
  },
  {
    alert: "TributaryTrainerQueueLong",
    interval: "1m",
    series: { [`trainer_queue_size{pool="training",${A}}`]: "9x20", [`trainer_threads{pool="training",${A}}`]: "4x20" },
    quietAt: "9m",
    firing: { at: "10m", labels: { pool: "training", instance }, summary: "9 calls wait for the training threads of a:1." },
  },
];
