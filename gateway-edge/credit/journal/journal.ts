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
  /** Rows of calls during which the previous process died; they are settled like any other. */
  readonly recovered: readonly UsageLog[];
  readonly tornBytes: number;
  readonly damagedFiles: readonly string[];
  /** Edge ids of the processes that wrote the existing files. They are dead: one folder belongs to one process at a time. */
  readonly endedEdges: readonly string[];
}

/** For operators. */
export interface JournalFigures {
  /** Calls that have an intent and no final. */
  readonly openCalls: number;
  /** Of the files on disk. */
  readonly bytes: number;
  readonly records: number;
  readonly unacknowledged: number;
  /** When the oldest unacknowledged call ended. */
  readonly oldestUnacknowledgedAt: Date | undefined;
}

/**
 * What an edge records of its calls, so that each is settled once whatever process dies: the intent before anything is sent, the deployment
 * that serves it, how much is delivered so far, and the final before the client's last byte. Records of one turn of the event loop are one
 * write.
 */
export interface Journal {
  readonly epoch: number;
  readonly start: JournalStart;
  /**
   * Throws UNAVAILABLE while the journal cannot be written. Callers do not wait for it: the final that follows is durable only together
   * with it.
   */
  intent(intent: Intent): void;
  served(served: ServedRecord): void;
  progress(progress: Progress): void;
  /**
   * Resolves when the row is durable: on disk, or acknowledged by the ledger. While the disk is full that may take long; the row waits in
   * memory and counts as unacknowledged. Rejects only when there is no memory left to hold it. The generation of the lease that the call was
   * made under is kept in memory alone: the ledger has ended the leases of a process that died.
   */
  final(log: UsageLog, leaseGeneration?: bigint): Promise<void>;
  /**
   * In order, each with its sequence. Only durable rows, so that the ledger never receives a row that a crash could change. While the disk
   * accepts no writes, also the rows that wait for it: then the ledger is the safer place. With a sequence, only those after it.
   */
  unacknowledged(after?: number): Generator<Settlement>;
  /** The ledger has every final up to this sequence. Files without other content are removed. */
  acknowledge(sequence: number): void;
  /** How many finals are unacknowledged. */
  pending(): number;
  healthy(): JournalHealth;
  figures(): JournalFigures;
  /** Writes the waiting records, as far as the disk accepts them. */
  close(): Promise<void>;
}
