/**
 * `make cluster`: all roles on loopback addresses with mutual TLS, over a replica set of three. Strikes every role and the store's primary
 * under load, restarts every process one after the other, and prints what clients saw and whether the ledger holds. PLANES, EDGES, LANES and
 * MONGO_NODES change the size, ONLY selects blows (such as `edge`), `rolling`, `coordinator lost`, `limits`, `partitions`
 * or `organizations`.
 */

import { startWordUpstream, wordModel } from "../test/faults/storm/word-upstream.ts";
import { type Cluster, type ClusterOptions, type ClusterRole, startCluster } from "../test/helpers/cluster.ts";
import { hasNetworks, openPlaneNetworks } from "../test/helpers/plane-networks.ts";
import { allBlows, type Blow, strike } from "./cluster/blows.ts";
import { checkLimits, readBalances } from "./cluster/limits.ts";
import { loseCoordinator } from "./cluster/lost-coordinator.ts";
import { callFromMany } from "./cluster/many-organizations.ts";
import { partitionsOf } from "./cluster/partitions.ts";
import { followFederation, followStream, restartAll } from "./cluster/rolling.ts";
import { printReports, underLoad } from "./cluster/under-load.ts";

const numberOf = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise);
const [planes, edges, lanes] = [numberOf("PLANES", 2), numberOf("EDGES", 3), numberOf("LANES", 6)];
const mongoNodes = numberOf("MONGO_NODES", 3);
const only = process.env["ONLY"];
const READS = 1000;

const env = { LOG_LEVEL: "warn", DRAIN_DELAY_MS: "1000" };
/** The value of ONLY that selects the loss of a coordinator's host. */
const LOST = "coordinator lost";
/** The value of ONLY that selects the rolling restart; roles may follow, such as `rolling edge` or `rolling trainer,coordinator`. */
const ROLLING = "rolling";
const isRolling = only?.startsWith(ROLLING) ?? false;
/** Roles that a call needs, and roles that a federation needs. */
const SERVING: readonly ClusterRole[] = ["control plane", "edge"];
const TRAINING_ROLES: readonly ClusterRole[] = ["coordinator", "trainer"];
/** Longer than the longest stream. */
const PATIENT = { ...env, DRAIN_MS: "120000", LOG_LEVEL: "info" };
/** The value of ONLY that selects many organizations with few calls; ORGANIZATIONS and MINUTES are their number and for how long. */
const MANY = "organizations";
const many = { organizations: numberOf("ORGANIZATIONS", 10_000), minutes: numberOf("MINUTES", 2) };
/** The value of ONLY that selects limits and balances with two and three control planes. */
const LIMITS = "limits";
/** The value of ONLY that selects partitions of the network between control planes, store and edges. */
const PARTITIONS = "partitions";
/** The coordinators' log tells which of them works on the federation. */
const TRAINING = { LOG_LEVEL: "info" };

const upstream = await startWordUpstream();
const config = wordModel(upstream.url);
try {
  const isBlow = only !== LOST && only !== MANY && only !== LIMITS && only !== PARTITIONS && !isRolling;
  const outcomes = isBlow ? [await on({ planes, edges, trainers: 2, coordinators: 2, config, env }, strikeAll)] : [];
  if (!only || only === PARTITIONS) outcomes.push(await partitionAll());
  if (!only || only === LOST) outcomes.push(await on({ planes, edges: 1, trainers: 2, coordinators: 2, env: TRAINING }, loseHost));
  const wanted = (only ?? "").slice(ROLLING.length).trim().split(",");
  for (const roles of !only || isRolling ? [SERVING, TRAINING_ROLES] : []) {
    const chosen = roles.filter((role) => wanted.some((name) => role.includes(name)));
    const trainers = roles === SERVING ? 0 : 2;
    if (chosen.length > 0)
      outcomes.push(
        await on({ planes, edges, trainers, coordinators: trainers, config, env: PATIENT }, (running) => restartEach(running, chosen)),
      );
  }
  if (only === MANY) outcomes.push(await on({ planes, edges, env }, callAll));
  for (const count of !only || only === LIMITS ? [2, 3] : []) {
    outcomes.push(await on({ planes: count, edges, config, env: { ...env, CREDIT_POLICY: "strict" } }, checkAll));
  }
  process.exitCode = outcomes.every(Boolean) ? 0 : 1;
} finally {
  await upstream.stop();
}

async function on(options: ClusterOptions, work: (cluster: Cluster) => Promise<boolean>): Promise<boolean> {
  const cluster = await startCluster({ ...options, mongoNodes });
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
  return printReports(reports);
}

async function loseHost(running: Cluster): Promise<boolean> {
  console.log("\n2 coordinators with copies at each other");
  return printReports([await loseCoordinator(running)]);
}

/** Restarts every process of some roles, one after the other, while a stream runs through the first edge or a federation is trained. */
async function restartEach(running: Cluster, roles: readonly ClusterRole[]): Promise<boolean> {
  const { load, tenant, shown } = await underLoad(running, { lanes, struck: "restarted" });
  const reports = [
    ...(roles.includes("edge") ? [followStream(running, tenant)] : []),
    ...(roles.includes("trainer") || roles.includes("coordinator") ? [await followFederation(running)] : []),
  ];
  const holds = await restartAll(running, { roles, load, shown });
  const isWhole = printReports(await Promise.all(reports.map((report) => report())));
  await load.end();
  return isWhole && holds;
}

async function callAll(running: Cluster): Promise<boolean> {
  console.log(`\n${planes} control planes, ${edges} edges, ${many.organizations} organizations`);
  return printReports([await callFromMany(running, many)]);
}

async function partitionAll(): Promise<boolean> {
  if (!hasNetworks()) {
    console.log("\npartitions of the network were not tried: this user may not make network namespaces");
    return only === undefined;
  }
  const networks = openPlaneNetworks(planes);
  try {
    console.log("\neach control plane in a network namespace of its own");
    return await on({ planes, edges, config, env, networks }, (running) => strikeWith(running, partitionsOf(running, networks)));
  } finally {
    networks.close();
  }
}

async function strikeAll(running: Cluster): Promise<boolean> {
  return strikeWith(
    running,
    allBlows(running).filter(({ target, what }) => !only || `${target} ${what}`.includes(only)),
  );
}

async function strikeWith(running: Cluster, blows: readonly Blow[]): Promise<boolean> {
  const { load, shown } = await underLoad(running, { lanes, struck: "struck" });
  let holds = true;
  for (const blow of blows) holds = (await shown(await strike(blow, load))) && holds;
  await load.end();
  return holds;
}
