/**
 * `make cluster`: all roles on loopback addresses with mutual TLS, over a replica set of three. Strikes every role and the store's primary
 * under load, and prints what clients saw and whether the ledger holds. PLANES, EDGES and LANES change the size, ONLY selects blows.
 */

import { startWordUpstream, wordModel } from "../test/faults/storm/word-upstream.ts";
import { adminToken, call, newTenant } from "../test/helpers/api.ts";
import { type Cluster, type ClusterOptions, startCluster } from "../test/helpers/cluster.ts";
import { allBlows, type BlowReport, strike } from "./cluster/blows.ts";
import { checkLimits, type LimitReport, readBalances } from "./cluster/limits.ts";
import { Load } from "./cluster/load.ts";
import { loseCoordinator } from "./cluster/lost-coordinator.ts";

const numberOf = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise);
const [planes, edges, lanes] = [numberOf("PLANES", 2), numberOf("EDGES", 3), numberOf("LANES", 6)];
const only = process.env["ONLY"];
const READS = 1000;

const env = { LOG_LEVEL: "warn", DRAIN_DELAY_MS: "1000" };
/** The value of ONLY that selects the loss of a coordinator's host. */
const LOST = "coordinator lost";
/** The coordinators' log tells which of them works on the federation. */
const TRAINING = { LOG_LEVEL: "info" };

const upstream = await startWordUpstream();
const config = wordModel(upstream.url);
try {
  const outcomes = only === LOST ? [] : [await on({ planes, edges, trainers: 2, coordinators: 2, config, env }, strikeAll)];
  if (!only || only === LOST) outcomes.push(await on({ planes, edges: 1, trainers: 2, coordinators: 2, env: TRAINING }, loseHost));
  for (const count of only ? [] : [2, 3]) {
    outcomes.push(await on({ planes: count, edges, config, env: { ...env, CREDIT_POLICY: "strict" } }, checkAll));
  }
  process.exitCode = outcomes.every(Boolean) ? 0 : 1;
} finally {
  await upstream.stop();
}

async function on(options: ClusterOptions, work: (cluster: Cluster) => Promise<boolean>): Promise<boolean> {
  const cluster = await startCluster(options);
  try {
    return await work(cluster);
  } finally {
    await cluster.stop();
  }
}

async function checkAll(running: Cluster): Promise<boolean> {
  const [plane] = running.membersOf("control plane");
  const handOver = async () => {
    await plane?.process.stop();
    await plane?.start();
  };
  const reports = [...(await checkLimits(running)), await readBalances(running, { reads: READS, during: handOver })];
  console.log(`\n${running.membersOf("control plane").length} control planes, ${edges} edges`);
  return print(reports);
}

async function loseHost(running: Cluster): Promise<boolean> {
  console.log("\n2 coordinators with copies at each other");
  return print([await loseCoordinator(running)]);
}

function print(reports: readonly LimitReport[]): boolean {
  for (const { what, figure, holds } of reports) console.log(`${what.padEnd(56)} ${figure.padEnd(40)} ${holds ? "holds" : "FAILS"}`);
  return reports.every(({ holds }) => holds);
}

async function strikeAll(running: Cluster): Promise<boolean> {
  const [url = ""] = running.urls;
  const tenant = await newTenant({ url }, { creditNano: 1_000_000_000_000 });
  const token = await adminToken({ url });
  const load = new Load({ urls: running.urls, key: tenant.key, lanes });
  console.log(
    `${planes} control planes, ${edges} edges, 2 trainers, 2 coordinators, 3 MongoDB nodes, mutual TLS, ${lanes} streams at a time`,
  );
  console.log(line(["struck", "how", "calls", "failed", "lost with it", "recovered", "verify"]));
  let holds = true;
  for (const blow of allBlows(running)) {
    if (only && !`${blow.target} ${blow.what}`.includes(only)) continue;
    const report = await strike(blow, load);
    const verdict = await verify(load.balancer.urlOf(load.balancer.pick()), token);
    console.log(row(report, verdict));
    for (const [reason, count] of Object.entries(report.reasons)) console.log(`  ${count} × ${reason}`);
    holds &&= report.failed === 0 && report.recoveredMs !== undefined && verdict === "ok";
  }
  await load.end();
  return holds;
}

async function verify(url: string, token: string): Promise<string> {
  const { status, body, text } = await call(url, "GET", "/api/admin/ledger/verify", { token });
  return status === 200 && body.ok === true && body.sum === 0 ? "ok" : `${status} ${text.slice(0, 200)}`;
}

function row(report: BlowReport, verdict: string): string {
  const seconds = report.recoveredMs === undefined ? "never" : `${(report.recoveredMs / 1000).toFixed(1)} s`;
  return line([report.target, report.what, report.calls, report.failed, report.lost, seconds, verdict]);
}

function line(cells: readonly (string | number)[]): string {
  const widths = [18, 14, 7, 8, 14, 11, 8];
  return cells
    .map((cell, index) => (index < 2 ? String(cell).padEnd(widths[index] ?? 0) : String(cell).padStart(widths[index] ?? 0)))
    .join(" ");
}
