import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { connect } from "node:net";
import { delimiter, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { freePort } from "./processes.ts";

const run = promisify(execFile);
const cache = resolve(import.meta.dirname, "../../.cache/redis");
const unpacked = join(cache, "debian");
/** The server and the libraries that a minimal machine may lack. */
const PACKAGES = ["redis-server", "redis-tools", "libjemalloc2", "liblzf1", "libatomic1"];
const START_MAX_MS = 10_000;

interface Binary {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface RedisServer {
  readonly url: string;
  /** Kills it like a power cut; `start` restarts it, empty, on the same port. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

let resolved: Promise<Binary> | undefined;

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

/** Env REDIS_SERVER, PATH, the cache, then Debian's packages, unpacked without installation. */
async function findRedis(): Promise<Binary> {
  const given = process.env["REDIS_SERVER"];
  const onPath = (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "redis-server"));
  for (const path of given ? [given] : onPath) if (await starts({ path, env: {} })) return { path, env: {} };
  const own = await unpackedBinary();
  if (await starts(own)) return own;
  await unpack();
  const fetched = await unpackedBinary();
  if (await starts(fetched)) return fetched;
  throw new Error("NO REDIS: tests of the shared cache cannot run. Install redis-server, or set REDIS_SERVER to one.");
}

async function unpackedBinary(): Promise<Binary> {
  const folders = await readdir(join(unpacked, "usr/lib")).catch(() => []);
  const libraries = folders.map((folder) => join(unpacked, "usr/lib", folder)).join(":");
  return { path: join(unpacked, "usr/bin/redis-server"), env: { LD_LIBRARY_PATH: libraries } };
}

/** Two test workers may do this at the same time: each uses its own folder, and the rename at the end is atomic. */
async function unpack(): Promise<void> {
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "fetch-"));
  try {
    await run("apt-get", ["download", ...PACKAGES], { cwd: folder, timeout: 120_000 });
    const content = join(folder, "content");
    for (const name of await readdir(folder)) {
      if (name.endsWith(".deb")) await run("dpkg", ["-x", join(folder, name), content], { timeout: 60_000 });
    }
    await rename(content, unpacked).catch(async (error: NodeJS.ErrnoException) => {
      // The other worker was faster.
      await access(unpacked).catch(() => Promise.reject(error));
    });
  } catch (error) {
    process.stderr.write(`redis-server could not be fetched from Debian: ${String(error).slice(0, 500)}\n`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function starts({ path, env }: Binary): Promise<boolean> {
  try {
    await run(path, ["--version"], { timeout: 20_000, env: { ...process.env, ...env } });
    return true;
  } catch {
    return false;
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
