import type { ProcessReport } from "../../common/process.ts";
import { type BackOff, defaultBackOff } from "./back-off.ts";
import { type Child, type ChildFailure, type ChildSpec, createChild } from "./child.ts";
import { type LogFile, openLogFile, type Rotation } from "./log-file.ts";

/** What a process needs to stop beside its time for running calls. */
export const STOP_MS = 35_000;
/** For a moment processes still write caches of their start. */
const ALL_READY_MS = 1000;
const TERMINAL_POLL_MS = 200;
const ROTATE_POLL_MS = 1000;

export type FirstRun = Extract<ProcessReport, { type: "first-run" }>;

export interface SupervisorOptions {
  /** Started first and stopped last, because all others need it. */
  readonly control: ChildSpec;
  /** Stopped first: their calls need all others. */
  readonly edges?: readonly ChildSpec[];
  readonly workers: readonly ChildSpec[];
  /** Started once the others are ready; `start` does not wait for them, because no first call needs them. */
  readonly later?: readonly ChildSpec[];
  readonly logFolder: string;
  readonly logToTerminal: boolean;
  readonly rotation?: Rotation;
  readonly print: (line: string) => void;
  readonly onFirstRun: (report: FirstRun) => void;
  readonly backOff?: BackOff;
  readonly stopMs?: number;
}

export interface Supervisor {
  readonly children: readonly Child[];
  /** Resolves with the first child that fails permanently. */
  readonly failed: Promise<ChildFailure>;
  /** Resolves when all are ready. */
  start(): Promise<void>;
  /** Stops edges, then what was started later, then the workers, then the control plane: each still has what its last calls need. */
  stop(): Promise<void>;
}

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { promise: failed, resolve: fail } = Promise.withResolvers<ChildFailure>();
  const logs: LogFile[] = [];
  const create = (spec: ChildSpec): Child => {
    const log = openLogFile(options.logFolder, spec.name, options.rotation);
    logs.push(log);
    return createChild(spec, {
      backOff: options.backOff ?? defaultBackOff,
      stopMs: options.stopMs ?? STOP_MS,
      log,
      print: options.print,
      onReport: (report) => {
        if (report.type === "first-run") options.onFirstRun(report);
      },
      onFailure: fail,
    });
  };
  const control = create(options.control);
  const edges = (options.edges ?? []).map(create);
  const workers = options.workers.map(create);
  const later = (options.later ?? []).map(create);
  const rotating = setInterval(() => {
    for (const log of logs) log.rotate();
  }, ROTATE_POLL_MS);
  const stopCopying = options.logToTerminal ? copyToTerminal(logs) : () => {};
  let stopping = false;
  let notifying: NodeJS.Timeout | undefined;
  const notifyLater = () => {
    if (stopping) return;
    notifying = setTimeout(() => {
      for (const child of [control, ...edges, ...workers, ...later]) child.notify({ type: "all-ready" });
    }, ALL_READY_MS);
  };
  return {
    children: [control, ...edges, ...workers, ...later],
    failed,
    start: async () => {
      await control.start();
      // A signal may have arrived while the control plane was starting.
      if (!stopping) await Promise.all([...edges, ...workers].map((child) => child.start()));
      if (!stopping) void Promise.all(later.map((child) => child.start())).then(notifyLater);
    },
    stop: async () => {
      stopping = true;
      clearTimeout(notifying);
      for (const wave of [edges, later, workers, [control]]) await Promise.all(wave.map((child) => child.stop()));
      stopCopying();
      clearInterval(rotating);
      for (const log of logs) log.close();
    },
  };
}

function copyToTerminal(logs: readonly LogFile[]): () => void {
  const copy = () => {
    for (const log of logs) process.stderr.write(log.unread());
  };
  const timer = setInterval(copy, TERMINAL_POLL_MS);
  return () => {
    clearInterval(timer);
    copy();
  };
}
