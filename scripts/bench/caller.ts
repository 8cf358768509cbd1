import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Target } from "./load.ts";

/** What the load generator does. */
export interface CallerTask extends Target {
  readonly body: string;
  /** Connections that call one after the other. */
  readonly callers: number;
  readonly seconds: number;
  /** Connections begin within this time, as those of real callers do not begin at one instant; absent: a tenth of a second. */
  readonly spreadMs?: number | undefined;
  /** Calls again at once after a refusal; absent: after the `retry-after` of the refusal. */
  readonly isHasty?: boolean | undefined;
  /** Connections that are open beside them and never call. */
  readonly idle?: number | undefined;
}

interface Times {
  readonly p50: number;
  readonly p99: number;
}

/** What came of it. Times without a value are not numbers. */
export interface CallerReport {
  readonly answered: number;
  readonly refused: number;
  /** Calls without an answer, and idle connections that were closed. */
  readonly broken: number;
  readonly statuses: Readonly<Record<string, number>>;
  /** Without the first calls of connections. */
  readonly answeredMs: Times;
  readonly refusedMs: Times;
  /** The first calls, which contain the time until their connections were accepted. */
  readonly connectingMs: Times;
  /** Until the first event of a stream, and until the first one with text. */
  readonly firstEventMs: Times;
  readonly firstTextMs: Times;
  /** How late the generator itself was: part of every time above. */
  readonly ownDelayP99Ms: number;
}

/** A load generator in a process of its own. */
export class CallerProcess {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(): Promise<CallerProcess> {
    const child = fork(join(import.meta.dirname, "caller-main.ts"), { serialization: "advanced" });
    await once(child, "message");
    return new CallerProcess(child);
  }

  async run(task: CallerTask): Promise<CallerReport> {
    const answer = once(this.#child, "message");
    this.#child.send(task);
    const [report] = (await answer) as [CallerReport];
    return report;
  }

  stop(): void {
    this.#child.disconnect();
  }
}
