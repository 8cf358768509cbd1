/**
 * `make alerts`: a real Prometheus with the shipped rules watches one process of every role. Each is killed, and its alert must fire within
 * a minute, while those of roles that live do not; then each is started again, and the alerts must end. All other alerts are proved by
 * promtool in test/monitoring/rules.test.ts.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Prometheus, startPrometheus } from "../test/helpers/prometheus.ts";
import { type Job, startWatchedPlatform } from "../test/monitoring/watched-platform.ts";

const FIRES_WITHIN_MS = 60_000;
/** In this order each can be killed without harm to those that live still. */
const ALERTS: readonly (readonly [Job, string])[] = [
  ["tributary-coordinator", "TributaryCoordinatorDown"],
  ["tributary-trainer", "TributaryTrainerDown"],
  ["tributary-edge", "TributaryEdgeDown"],
  ["tributary-control-plane", "TributaryControlPlaneDown"],
];

const platform = await startWatchedPlatform();
let prometheus: Prometheus | undefined;
try {
  prometheus = await startPrometheus(platform.folder, platform.targets);
  await until(() => prometheus?.isEverythingUp(), "every process is scraped", FIRES_WITHIN_MS);
  // Before its first scrape, a process counts as absent.
  const isQuiet = await until(noneIsDown, "no alert while all roles run", FIRES_WITHIN_MS);
  const isFine = [isQuiet, await killAll(), await startAll()].every(Boolean);
  process.exitCode = isFine ? 0 : 1;
  console.log(isFine ? "every role's alert fired and ended" : "FAILED");
} finally {
  await prometheus?.stop();
  await platform.stop();
}

/** Kills the roles one after the other, each when Prometheus has noticed the one before and no other. */
async function killAll(): Promise<boolean> {
  const firing: Promise<boolean>[] = [];
  const killed: string[] = [];
  for (const [job, alert] of ALERTS) {
    await platform.kill(job);
    const atMs = performance.now();
    killed.push(alert);
    await until(async () => (await rolesIn("pending", "firing")).includes(alert), `${alert} is noticed`, FIRES_WITHIN_MS);
    const noticed = await rolesIn("pending", "firing");
    const others = noticed.filter((name) => !killed.includes(name));
    if (others.length > 0) console.log(`${job} was killed, and ${others.join(", ")} noticed`);
    firing.push(fires({ job, alert, atMs }).then((isFired) => isFired && others.length === 0));
  }
  return (await Promise.all(firing)).every(Boolean);
}

async function fires({ job, alert, atMs }: { job: Job; alert: string; atMs: number }): Promise<boolean> {
  const left = FIRES_WITHIN_MS - (performance.now() - atMs);
  const isFired = await until(async () => (await rolesIn("firing")).includes(alert), `${alert} fires`, left);
  if (isFired) console.log(`${job} killed: ${alert} fired after ${((performance.now() - atMs) / 1000).toFixed(1)} s`);
  return isFired;
}

async function startAll(): Promise<boolean> {
  for (const [job] of ALERTS.toReversed()) await platform.start(job);
  return until(noneIsDown, "the alerts end after the roles are back", FIRES_WITHIN_MS);
}

async function noneIsDown(): Promise<boolean> {
  return (await rolesIn("pending", "firing")).length === 0;
}

/** Alerts of roles that are down. A dead control plane causes others, too, which are no mistake. */
async function rolesIn(...states: readonly string[]): Promise<string[]> {
  const active = (await prometheus?.alerts()) ?? [];
  const names = active.filter(({ state }) => states.includes(state)).map(({ labels }) => labels["alertname"] ?? "");
  return ALERTS.map(([, alert]) => alert).filter((alert) => names.includes(alert));
}

async function until(isDone: () => Promise<boolean> | undefined, what: string, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (!(await isDone())) {
    if (performance.now() > end) {
      console.log(`not within ${Math.round(withinMs / 1000)} s: ${what}`);
      return false;
    }
    await sleep(200);
  }
  return true;
}
