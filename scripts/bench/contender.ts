import type { Target } from "./load.ts";

/** A gateway that is measured. */
export interface Contender extends Target {
  readonly name: string;
  readonly version: string;
  /** Milliseconds from the start of its processes to the first answer. */
  readonly startMs: number;
  /** The processes that were started; their descendants count, too. */
  readonly roots: readonly number[];
  /** Resolves when everything that the calls caused is done; throws if that takes a minute. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

/** What is needed to start one. */
export interface Stage {
  readonly folder: string;
  readonly upstreamUrl: string;
}

/** How much a section of the benchmark measures. */
export interface Extent {
  readonly rounds: number;
  /** A part of the records and calls. */
  readonly scale: number;
  /** Calls before the first window. */
  readonly warm: number;
}
