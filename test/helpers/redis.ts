import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findProgram, type Program } from "./debian-programs.ts";
import { freePort } from "./processes.ts";

const REDIS = {
  name: "redis-server",
  packages: ["redis-server", "redis-tools", "libjemalloc2", "liblzf1", "libatomic1"],
  folder: resolve(import.meta.dirname, "../../.cache/redis"),
};
const START_MAX_MS = 10_000;

export interface RedisServer {
  readonly url: string;
  /** Kills it like a power cut; `start` restarts it, empty, on the same port. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

let resolved: Promise<Program> | undefined;

/** A real Redis on a free loopback port. Fails with the reason if it is not available, because a skipped cache suite proves nothing. */
export async function startRedis(): Promise<RedisServer> {
  resolved ??= findRedis();
  const binary = await resolved;
  const port = await freePort();
  let child: ChildProcess | undefined;
  const start = async () => {
    const options = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
    child = spawn(binary.path, options, { stdio: "ignore", env: { ...process.env, ...binary.env } });
    await untilAnswering(child, port);
  };
  const end = async (signal: NodeJS.Signals) => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  };
  await start();
  return { url: `redis://127.0.0.1:${port}`, start, kill: () => end("SIGKILL"), stop: () => end("SIGKILL") };
}

/** Env REDIS_SERVER, PATH, the cache, then Debian's packages. */
async function findRedis(): Promise<Program> {
  try {
    return await findProgram(REDIS);
  } catch (cause) {
    throw new Error("NO REDIS: tests of the shared cache cannot run. Install redis-server, or set REDIS_SERVER to one.", { cause });
  }
}

async function untilAnswering(child: ChildProcess, port: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < START_MAX_MS; waitedMs += 50) {
    if (child.exitCode !== null) throw new Error("redis-server ended at once");
    if (await answers(port)) return;
    await sleep(50);
  }
  throw new Error(`redis-server does not answer after ${START_MAX_MS} ms`);
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(1000) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
