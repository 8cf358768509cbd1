import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { ProcessReport } from "../../common/process.ts";
import type { SupervisorMessage } from "../../common/start-garbage.ts";
import { type BackOff, nextDelayMs } from "./back-off.ts";
import type { LogFile } from "./log-file.ts";

/** EX_CONFIG, see common/process.ts: a restart cannot help. */
const EXIT_CONFIGURATION = 78;
const STARTS_BEFORE_READY_MAX = 5;
const TAIL_LINES = 20;

export interface ChildSpec {
  readonly name: string;
  /** Absolute path of the program. */
  readonly entry: string;
  /** Node flags, before the entry. */
  readonly nodeFlags?: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A child that is not restarted; the supervisor exits with this code. */
export interface ChildFailure {
  readonly name: string;
  readonly code: number;
}

export interface ChildDeps {
  readonly backOff: BackOff;
  readonly stopMs: number;
  readonly log: LogFile;
  readonly print: (line: string) => void;
  readonly onReport: (report: ProcessReport) => void;
  readonly onFailure: (failure: ChildFailure) => void;
}

export interface Child {
  readonly name: string;
  readonly pid: number | undefined;
  /** Resolves when the child is ready for the first time. Never settles if it fails permanently; then `onFailure` is called. */
  start(): Promise<void>;
  /** Sends a message to the process, if it runs. */
  notify(message: SupervisorMessage): void;
  /** Disables restarts and sends SIGTERM, then SIGKILL after `stopMs`. Resolves when the child has exited. */
  stop(): Promise<void>;
}

/** Starts one program, restarts it with backoff, and gives up after permanent failures. */
export function createChild(spec: ChildSpec, deps: ChildDeps): Child {
  const firstReady = Promise.withResolvers<void>();
  let running: ChildProcess | undefined;
  let restart: NodeJS.Timeout | undefined;
  let delayMs: number | undefined;
  let startsBeforeReady = 0;
  let wasReady = false;
  let stopping = false;

  function launch(): void {
    restart = undefined;
    if (!wasReady) startsBeforeReady += 1;
    deps.log.mark();
    const startedAt = performance.now();
    const child = spawnDetached(spec, deps.log);
    running = child;
    child.on("message", (message) => {
      const report = message as ProcessReport;
      deps.onReport(report);
      if (report.type !== "ready") return;
      if (wasReady) deps.print(`${spec.name} is back`);
      wasReady = true;
      firstReady.resolve();
    });
    // "error" means that the program could not be started; no "exit" follows.
    child.once("error", (error) => ended(`could not be started: ${error.message}`, null, 0));
    child.once("exit", (code, signal) =>
      ended(signal ? `was ended by ${signal}` : `ended with code ${code}`, code, performance.now() - startedAt),
    );
  }

  function ended(how: string, code: number | null, upMs: number): void {
    running = undefined;
    if (stopping) return;
    for (const line of deps.log.tail(TAIL_LINES)) deps.print(`  ${spec.name} | ${line}`);
    const hopeless = code === EXIT_CONFIGURATION || (!wasReady && startsBeforeReady >= STARTS_BEFORE_READY_MAX);
    if (hopeless) {
      deps.print(`${spec.name} ${how}; it is not started again`);
      deps.onFailure({ name: spec.name, code: code === EXIT_CONFIGURATION ? EXIT_CONFIGURATION : 1 });
      return;
    }
    delayMs = nextDelayMs(deps.backOff, { previousMs: delayMs, upMs });
    deps.print(`${spec.name} ${how}; starting it again in ${delayMs} ms (log: ${deps.log.path})`);
    restart = setTimeout(launch, delayMs);
  }

  return {
    name: spec.name,
    get pid() {
      return running?.pid;
    },
    start: () => {
      launch();
      return firstReady.promise;
    },
    notify: (message) => {
      // One that has just ended gets nothing.
      if (running?.connected) running.send(message, () => {});
    },
    stop: async () => {
      stopping = true;
      clearTimeout(restart);
      if (running !== undefined) await endProcess(running, deps.stopMs);
    },
  };
}

/** A separate process group, because Ctrl-C on the terminal must reach only the supervisor, which stops all children in order. */
function spawnDetached(spec: ChildSpec, log: LogFile): ChildProcess {
  return spawn(process.execPath, [...(spec.nodeFlags ?? []), spec.entry], {
    env: { ...spec.env },
    detached: true,
    stdio: ["ignore", log.descriptor, log.descriptor, "ipc"],
  });
}

async function endProcess(child: ChildProcess, stopMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const gone = once(child, "exit");
  const lastResort = setTimeout(() => child.kill("SIGKILL"), stopMs);
  child.kill("SIGTERM");
  await gone;
  clearTimeout(lastResort);
}
