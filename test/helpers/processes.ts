import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { resolve } from "node:path";
import type { ProcessReport } from "../../common/process.ts";

const ownRoot = resolve(import.meta.dirname, "../..");
const READY_MAX_MS = 30_000;
const STOP_MAX_MS = 35_000;

export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ServiceProcess {
  readonly name: string;
  readonly pid: number;
  /** Resolves with the first `ready` report; rejects, with the last lines of stderr, if the process exits or sends no report for 30 s. */
  readonly ready: Promise<Extract<ProcessReport, { type: "ready" }>>;
  /** All reports so far, including the first-run report. */
  readonly reports: readonly ProcessReport[];
  readonly stdout: string;
  readonly stderr: string;
  readonly exited: Promise<ProcessExit>;
  /** Sends a signal (by default SIGTERM) and waits for the exit; kills the process after `maxMs`, by default 35 s. */
  stop(signal?: NodeJS.Signals, maxMs?: number): Promise<ProcessExit>;
  /** Kills the process like a power cut, and waits for its exit. */
  kill9(): Promise<ProcessExit>;
}

export interface StartOptions {
  /** Path of the program inside the repository, or absolute. */
  readonly entry: string;
  readonly env: Readonly<Record<string, string>>;
  readonly name: string;
  /** Prefix of the command, such as a wrapper that changes the environment and then executes it. */
  readonly launcher?: readonly string[] | undefined;
  /** Folder of the code; this repository if absent. */
  readonly root?: string | undefined;
  /** Node flags. */
  readonly nodeFlags?: readonly string[] | undefined;
}

/** Starts a service as in production: a separate process, from source. Only PATH and folders are inherited. */
export function startProcess({ entry, env, name, launcher = [], nodeFlags = [], root = ownRoot }: StartOptions): ServiceProcess {
  const [command = process.execPath, ...words] = [...launcher, process.execPath, ...nodeFlags, resolve(root, entry)];
  const child = spawn(command, words, {
    cwd: root,
    // As in `make run`: without the cache every process compiles all its modules again, which takes a second of processor time.
    env: { ...inherited(["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"]), NODE_COMPILE_CACHE: resolve(root, ".cache", "compiled"), ...env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  killWithUs(child);
  const texts = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    texts.stdout += chunk;
  });
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    texts.stderr += chunk;
  });
  const reports: ProcessReport[] = [];
  child.on("message", (message) => reports.push(message as ProcessReport));
  // "close" instead of "exit", because all output has arrived by then.
  const exited = once(child, "close").then(([code, signal]) => ({ code, signal }) as ProcessExit);
  const ready = firstReady(child, exited, () => `${name}: ${texts.stderr.slice(-2_000)}`);
  const end = (signal: NodeJS.Signals, maxMs = STOP_MAX_MS) => {
    const lastResort = setTimeout(() => child.kill("SIGKILL"), maxMs);
    child.kill(signal);
    return exited.finally(() => clearTimeout(lastResort));
  };
  return {
    name,
    pid: child.pid ?? -1,
    ready,
    reports,
    exited,
    get stdout() {
      return texts.stdout;
    },
    get stderr() {
      return texts.stderr;
    },
    stop: (signal = "SIGTERM", maxMs) => end(signal, maxMs),
    kill9: () => end("SIGKILL"),
  };
}

// Below the ephemeral port range, so that no outgoing connection takes the port between this check and its use.
const PORTS = { first: 10_240, count: 20_000 };
const givenOut = new Set<number>();

/** A port that is currently free and that this process has not returned before. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.first + randomInt(PORTS.count);
    if (givenOut.has(port) || !(await isFree(port))) continue;
    givenOut.add(port);
    return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const outcome = Promise.race([once(server, "listening").then(() => true), once(server, "error").then(() => false)]);
  server.listen(port, "127.0.0.1");
  const isOurs = await outcome.catch(() => false);
  if (isOurs) {
    server.close();
    await once(server, "close");
  }
  return isOurs;
}

function firstReady(child: ChildProcess, exited: Promise<ProcessExit>, describe: () => string): ServiceProcess["ready"] {
  const { promise, resolve: settle, reject } = Promise.withResolvers<Extract<ProcessReport, { type: "ready" }>>();
  const silent = setTimeout(() => reject(new Error(`not ready after ${READY_MAX_MS} ms: ${describe()}`)), READY_MAX_MS);
  child.on("message", (message) => {
    const report = message as ProcessReport;
    if (report.type === "ready") settle(report);
  });
  exited.then(
    ({ code, signal }) => reject(new Error(`ended before it was ready (code ${code}, signal ${signal}): ${describe()}`)),
    (error: unknown) => reject(new Error(`could not be started: ${String(error)}`)),
  );
  // A test that expects the failure awaits only `exited`, so `ready` must not count as an unhandled rejection.
  promise.catch(() => {}).finally(() => clearTimeout(silent));
  return promise;
}

function killWithUs(child: ChildProcess): void {
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
}

function inherited(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));
}
