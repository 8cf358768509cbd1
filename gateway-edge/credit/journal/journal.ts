import type { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import type { Settlement } from "./final-record.ts";
import type { Intent, Progress, ServedRecord } from "./records.ts";

export type JournalHealth = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** What was found when the journal was opened. */
export interface JournalStart {
  readonly files: number;
  readonly records: number;
  /** Finals that were waiting for the ledger. */
  readonly unacknowledged: number;
  /** Rows of calls that the process before this one died in; they are settled like any other. */
  readonly recovered: readonly UsageLog[];
  readonly tornBytes: number;
  readonly damagedFiles: readonly string[];
  /** Who wrote the files before: dead, as the folder is of one process at a time. */
  readonly endedEdges: readonly string[];
}

/** For operators. */
export interface JournalFigures {
  /** Calls that have begun and not ended. */
  readonly openCalls: number;
  /** Of the files that are kept. */
  readonly bytes: number;
  readonly records: number;
  readonly unacknowledged: number;
  /** When the oldest of those ended. */
  readonly oldestUnacknowledgedAt: Date | undefined;
}

/**
 * What an edge writes down of its calls, so that each is settled once whatever dies: intent before anything is sent, who serves it, how
 * much was delivered so far, and the row of its end before the client's last byte. Calls of one turn of the event loop are one write.
 */
export interface Journal {
  readonly epoch: number;
  readonly start: JournalStart;
  /** Throws UNAVAILABLE while the journal cannot be written. Not waited for: the final that follows is safe only with it. */
  intent(intent: Intent): void;
  served(served: ServedRecord): void;
  progress(progress: Progress): void;
  /**
   * Resolves when the row is safe: on disk, or acknowledged. While the disk is full that may take long; the row waits in memory
   * and is among the unacknowledged all the same. Rejects only when it cannot even wait.
   */
  final(log: UsageLog): Promise<void>;
  /**
   * In order, each with its place; only what is safe, so that what was told to the ledger is never told otherwise after a crash. While the
   * disk takes nothing also what waits for it: then the ledger is the safer place.
   */
  unacknowledged(): Generator<Settlement>;
  /** The ledger has every final up to here. Files that hold nothing else are removed. */
  acknowledge(sequence: number): void;
  /** How many finals are unacknowledged. */
  pending(): number;
  healthy(): JournalHealth;
  figures(): JournalFigures;
  /** Writes what waits, as far as the disk takes it. */
  close(): Promise<void>;
}
