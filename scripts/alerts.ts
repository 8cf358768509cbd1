/**
 * `make alerts`: every shipped alert fires. A real Prometheus with the shipped rules watches real processes, whose roles are killed, starved, filled
 * up and refused until each alert has fired; conditions that must hold for longer than a minute are held for 15 seconds. promtool proves each rule as it is
 * shipped, with its time. Fails if an alert does not fire, a role's alert takes more than 60 s, an alert of a living role fires, a rule or dashboard
 * names a metric that no process has, or an alert has no runbook.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { readExposition } from "../common/metrics/exposition-fixture.ts";
import { plant } from "../control-plane/proof/ledger-fixture.ts";
import { openEmbeddedStore } from "../control-plane/stores/embedded/store.ts";
import { call } from "../test/helpers/api.ts";
import { type Prometheus, promtool, RULES, startPrometheus } from "../test/helpers/prometheus.ts";
import { ALERT_CASES } from "../test/monitoring/alert-cases.ts";
import { testRules } from "../test/monitoring/rule-tests.ts";
import { missingMetrics, readRules } from "../test/monitoring/rules.ts";
import { type Job, MASTER_KEY } from "../test/monitoring/watched-platform.ts";
import { CONDITIONS, CONTROL_PLANE_AWAY, type Condition, FIRST_CONDITIONS, OVERLOAD, STORE_AWAY } from "./alerts/conditions.ts";
import { writeLiveRules } from "./alerts/live-rules.ts";
import { openStage, type Stage } from "./alerts/stage.ts";
import { AlertTable } from "./alerts/table.ts";
import { until } from "./alerts/until.ts";

const ROLE_WITHIN_MS = 60_000;
const CONDITION_WITHIN_MS = 90_000;
/** The last alert of a dead control plane takes three minutes by its rule. */
const ROLE_AWAY_WITHIN_MS = 240_000;
const DOWN = {
  "tributary-control-plane": "TributaryControlPlaneDown",
  "tributary-coordinator": "TributaryCoordinatorDown",
  "tributary-trainer": "TributaryTrainerDown",
  "tributary-edge": "TributaryEdgeDown",
} as const satisfies Record<Job, string>;

const beganMs = performance.now();
const rules = readRules();
const stage = await openStage();
const table = new AlertTable(rules);
let prometheus: Prometheus | undefined;
try {
  const liveRules = join(stage.platform.folder, "alerts.yml");
  table.cut = writeLiveRules(liveRules);
  prometheus = await startPrometheus(stage.platform.folder, stage.platform.targets, liveRules);
  process.exitCode = (await fireAll(stage, prometheus)) ? 0 : 1;
} finally {
  await prometheus?.stop();
  await stage.close();
}

async function fireAll({ platform }: Stage, { isEverythingUp }: Prometheus): Promise<boolean> {
  const isUp = await until(isEverythingUp, "every process is scraped", ROLE_WITHIN_MS);
  // Before its first scrape, a process counts as absent.
  const isQuiet = await until(async () => (await downAlerts()).length === 0, "no role's alert while all roles run", ROLE_WITHIN_MS);
  const areClean = await checkScrapes(stage);
  await whileHeld(FIRST_CONDITIONS, CONDITION_WITHIN_MS);
  await whileHeld(CONDITIONS, CONDITION_WITHIN_MS);
  await whileHeld([OVERLOAD], CONDITION_WITHIN_MS);
  await whileHeld([STORE_AWAY, CONTROL_PLANE_AWAY], ROLE_AWAY_WITHIN_MS);
  await plantFault(stage);
  for (const job of Object.keys(DOWN)) await platform.start(job);
  const isVerified = await verifyFault(stage);
  const isOver = await until(async () => (await downAlerts()).length === 0, "the roles' alerts end when they are back", ROLE_WITHIN_MS);
  const areProved = await proveRules();
  const seconds = Math.round((performance.now() - beganMs) / 1000);
  const isFine = table.print() && [isUp, isQuiet, areClean, isVerified, isOver, areProved].every(Boolean);
  console.log(`${isFine ? "every alert fired" : "FAILED"}, in ${seconds} s`);
  return isFine;
}

/** Makes conditions at the same time and holds each until its alerts have fired. While the control plane is dead, the other roles are killed, too. */
async function whileHeld(conditions: readonly Condition[], withinMs: number): Promise<void> {
  await Promise.all(
    conditions.map(async (condition) => {
      const end = new AbortController();
      const atMs = performance.now();
      const held = condition.hold(stage, end.signal).catch((error: unknown) => table.complain(`${condition.what}: ${String(error)}`));
      await Promise.all(condition.alerts.map((alert) => fires(alert, { what: condition.what, atMs, withinMs })));
      if (condition === CONTROL_PLANE_AWAY) await killOthers();
      end.abort();
      await held;
    }),
  );
}

/** Kills the other roles one after the other; only the alerts of killed roles may fire. */
async function killOthers(): Promise<void> {
  const killed: string[] = [DOWN["tributary-control-plane"]];
  for (const [job, alert] of Object.entries(DOWN)) {
    if (killed.includes(alert)) continue;
    const noticed = await downAlerts();
    const wrong = noticed.filter((name) => !killed.includes(name));
    if (wrong.length > 0) table.complain(`${wrong.join(", ")} of roles that live`);
    await stage.platform.kill(job);
    killed.push(alert);
    await fires(alert, { what: "killed", atMs: performance.now(), withinMs: ROLE_WITHIN_MS });
  }
}

/** Changes an account as no program of ours does, while no control plane has the store. */
async function plantFault({ platform }: Stage): Promise<void> {
  const store = openEmbeddedStore(join(platform.folder, "data", "control-plane"));
  await plant(store, "accounts", "purchases", { balance: 1n });
  await store.close();
}

async function verifyFault({ platform }: Stage): Promise<boolean> {
  // The counter's first sample must be 0, so that the failure is an increase.
  await until(async () => (await prometheus?.isEverythingUp()) ?? false, "every process is scraped again", ROLE_WITHIN_MS);
  const atMs = performance.now();
  const headers = { authorization: `Bearer ${MASTER_KEY}` };
  const { body } = await call(platform.url, "GET", "/api/admin/ledger/verify", { headers });
  if (body.ok !== false) console.log(`the verification found nothing: ${JSON.stringify(body)}`);
  return fires("TributaryLedgerVerifyFailed", { what: "changed balance, verified", atMs, withinMs: ROLE_WITHIN_MS });
}

async function fires(alert: string, { what, atMs, withinMs }: { what: string; atMs: number; withinMs: number }): Promise<boolean> {
  const isFired = await until(async () => (await firing()).includes(alert), `${alert} fires`, withinMs);
  if (isFired) table.fired(alert, { what, seconds: (performance.now() - atMs) / 1000 });
  return isFired;
}

async function proveRules(): Promise<boolean> {
  for (const { alert, annotations } of rules) {
    const { code, output } = await testRules(ALERT_CASES.filter((each) => each.alert === alert));
    if (code !== 0) console.log(output);
    table.proved(alert, code === 0, existsSync(resolve(import.meta.dirname, "..", annotations["runbook_url"] ?? "none")));
  }
  return rules.length > 0;
}

async function firing(): Promise<string[]> {
  return (await activeAlerts()).filter(({ state }) => state === "firing").map(({ labels }) => labels["alertname"] ?? "");
}

/** Alerts of roles that are down, pending ones too. */
async function downAlerts(): Promise<string[]> {
  const names = new Set((await activeAlerts()).map(({ labels }) => labels["alertname"]));
  return Object.values(DOWN).filter((alert) => names.has(alert));
}

async function activeAlerts() {
  return (await prometheus?.alerts()) ?? [];
}

/** What every process serves is clean by promtool, so are the rules, and all metrics that rules and dashboards name are there. */
async function checkScrapes({ platform }: Stage): Promise<boolean> {
  const targets = Object.values(platform.targets).flat();
  const texts = await Promise.all(targets.map(async (target) => (await fetch(`http://${target}/metrics`)).text()));
  const checks = await Promise.all([
    promtool(["check", "rules", "--lint=all", "--lint-fatal", RULES]),
    ...texts.map((text) => promtool(["check", "metrics"], text)),
  ]);
  const problems = checks.filter(({ code }) => code !== 0).map(({ output }) => output);
  const missing = missingMetrics(new Set(texts.flatMap((text) => [...readExposition(text).types.keys()])));
  console.log(`promtool check rules, and check metrics of ${texts.length} processes: ${problems.join("; ") || "clean"}`);
  console.log(`metrics of rules and dashboards that no process has: ${missing.join(", ") || "none"}`);
  return problems.length === 0 && missing.length === 0;
}
