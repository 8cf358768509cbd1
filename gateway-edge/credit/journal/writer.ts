import { join } from "node:path";
import type { Clock } from "../../../common/clock.ts";
import { type Disk, type DiskFile, isDiskFull } from "../../../common/disk.ts";
import { AppError } from "../../../common/errors.ts";
import type { Logger } from "../../../common/logger.ts";
import { checksumSeed, encodeHeader, FRAME_OVERHEAD_BYTES, PAYLOAD_BYTES_MAX, putFrame } from "./frame.ts";
import type { RecordType } from "./records.ts";
import { type Segment, segmentName } from "./segment.ts";

/** `process`: acknowledged records survive a killed process. `disk`: they survive a power cut. */
export type JournalSync = "process" | "disk";

export interface WriterDeps {
  readonly disk: Disk;
  readonly folder: string;
  readonly edgeId: string;
  readonly sync: JournalSync;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: WriterLimits;
  readonly epoch: number;
  readonly firstSequence: number;
  /** Written into the header of each new file. */
  readonly watermark: () => number;
  readonly onSegment: (segment: Segment) => void;
  /** Everything up to this sequence is as durable as `sync` promises. */
  readonly onSafe: (sequence: number) => void;
  /** Written data can no longer be made durable: the process must end, and its restart reads what is on disk. */
  readonly onBroken: (error: unknown) => void;
}

export interface WriterLimits {
  /** A file of this size is followed by a new one. */
  readonly fileBytesMax: number;
  /** Bytes of records in memory while the disk accepts no writes. */
  readonly heldBytesMax: number;
  readonly probeMs: number;
}

interface Waiter {
  readonly sequence: number;
  resolve(): void;
  reject(error: unknown): void;
}

const BATCH_BYTES = 4096;
const RETRY_AFTER_SECONDS = 5;

/**
 * Appends records in groups: records of one turn of the event loop are one write, and records that arrive during a sync share the next
 * sync. When the disk accepts no writes, records wait here in order and are tried again.
 */
export class JournalWriter {
  readonly #deps: WriterDeps;
  readonly #seed: number;
  #batch: Buffer = Buffer.allocUnsafeSlow(BATCH_BYTES);
  #batchBytes = 0;
  #scheduled = false;
  #next: number;
  #written: number;
  #safe: number;
  #segment: Segment;
  #file: DiskFile | undefined;
  /** Files with unsynced writes; each is closed after its sync, unless it is the current one. */
  #unsynced = new Map<Segment, DiskFile>();
  #folderUnsynced = false;
  #syncing = false;
  #waiters: Waiter[] = [];
  #trouble: AppError | undefined;
  #isBroken = false;
  #stopProbe: (() => void) | undefined;

  constructor(deps: WriterDeps) {
    this.#deps = deps;
    this.#seed = checksumSeed(deps);
    this.#next = deps.firstSequence;
    this.#written = deps.firstSequence - 1;
    this.#safe = this.#written;
    this.#segment = this.#newSegment(0);
  }

  /** The file for the next record. */
  get segment(): Segment {
    return this.#segment;
  }

  get lastSequence(): number {
    return this.#next - 1;
  }

  get safeSequence(): number {
    return this.#safe;
  }

  /** Why nothing can be written now, as an error for callers; undefined when writing works. */
  get trouble(): AppError | undefined {
    return this.#trouble;
  }

  /**
   * Takes a record and returns its sequence. It is written at the end of this turn of the event loop, or, while the disk fails, when the
   * disk works again.
   */
  append(type: RecordType, payload: Buffer): number {
    if (this.#isBroken && this.#trouble) throw this.#trouble;
    const bytes = FRAME_OVERHEAD_BYTES + payload.length;
    if (payload.length > PAYLOAD_BYTES_MAX) throw new AppError("PAYLOAD_TOO_LARGE", `A journal record of ${bytes} bytes is too large.`);
    this.#makeRoom(bytes);
    const sequence = this.#next++;
    this.#batchBytes = putFrame(this.#batch, this.#batchBytes, { type, sequence, payload, seed: this.#seed });
    if (!this.#scheduled && !this.#trouble) {
      this.#scheduled = true;
      setImmediate(() => this.flush());
    }
    return sequence;
  }

  /** Resolves when a record is durable. */
  safe(sequence: number): Promise<void> {
    if (sequence <= this.#safe) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.push({ sequence, resolve, reject }));
  }

  /** The records up to this sequence are stored elsewhere: no caller has to wait for this disk. */
  release(sequence: number): void {
    this.#resolveWaiters(sequence);
  }

  /** Writes the waiting records. The writer calls it itself; others call it when the disk may have room again. */
  flush(): void {
    this.#scheduled = false;
    if (this.#batchBytes === 0 || this.#isBroken) return;
    try {
      this.#write(this.#batch.subarray(0, this.#batchBytes));
    } catch (error) {
      this.#hold(error);
      return;
    }
    this.#batchBytes = 0;
    this.#written = this.#next - 1;
    this.#segment.lastSequence = this.#written;
    this.#overcome();
    if (this.#deps.sync === "disk") void this.#syncAll();
    else this.#becomeSafe(this.#written);
    if (this.#segment.bytes >= this.#deps.limits.fileBytesMax) this.#endSegment();
  }

  /** Resolves when all records are durable, or at once when the disk accepts no writes. */
  async settled(): Promise<void> {
    this.flush();
    if (!this.#trouble) await this.safe(this.lastSequence);
  }

  async close(): Promise<void> {
    await this.settled();
    this.#stopProbe?.();
    if (this.#trouble) {
      const { internal } = this.#trouble;
      this.#deps.logger.error(
        { bytes: this.#batchBytes, internal },
        "the journal is closed with records that could not be written to disk",
      );
      this.#rejectWaiters(this.#trouble);
    }
    this.#file?.close();
    this.#file = undefined;
  }

  #makeRoom(bytes: number): void {
    const needed = this.#batchBytes + bytes;
    if (needed <= this.#batch.length) return;
    // While the disk works a batch is one turn's records; while it fails, this limits the records that wait.
    if (this.#trouble && needed > this.#deps.limits.heldBytesMax) throw this.#trouble;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#batch.length * 2));
    this.#batch.copy(larger, 0, 0, this.#batchBytes);
    this.#batch = larger;
  }

  #write(bytes: Buffer): void {
    const file = this.#file ?? this.#createFile();
    try {
      file.write(bytes);
    } catch (error) {
      this.#undo(file);
      throw error;
    }
    this.#segment.bytes += bytes.length;
    if (this.#deps.sync === "disk") this.#unsynced.set(this.#segment, file);
  }

  #createFile(): DiskFile {
    const { disk, edgeId, epoch, watermark } = this.#deps;
    const { path, number, firstSequence } = this.#segment;
    const header = encodeHeader({ edgeId, epoch, number, firstSequence, watermark: watermark() });
    const file = disk.create(path);
    try {
      file.write(header);
    } catch (error) {
      file.close();
      disk.remove(path);
      throw error;
    }
    this.#segment.bytes = header.length;
    this.#file = file;
    this.#folderUnsynced = true;
    return file;
  }

  /** Truncates a half-written batch; where that fails, the following records go into a new file. */
  #undo(file: DiskFile): void {
    try {
      file.truncate(this.#segment.bytes);
    } catch (error) {
      this.#deps.logger.error({ path: this.#segment.path, error: String(error) }, "a half-written batch stays in a journal file");
      this.#endSegment();
    }
  }

  #endSegment(): void {
    const ended = this.#segment;
    // A sync may be running: then the file is closed after the next one.
    if (this.#file && this.#deps.sync === "disk") this.#unsynced.set(ended, this.#file);
    else this.#file?.close();
    this.#file = undefined;
    this.#segment = this.#newSegment(ended.number + 1);
  }

  #newSegment(number: number): Segment {
    const { folder, epoch, onSegment } = this.#deps;
    // The waiting records go into it too.
    const firstSequence = this.#written + 1;
    const path = join(folder, segmentName({ epoch, number }));
    const segment = {
      path,
      epoch,
      number,
      firstSequence,
      lastSequence: firstSequence - 1,
      lastFinal: 0,
      bytes: 0,
      openCalls: 0,
      safe: false,
    };
    onSegment(segment);
    return segment;
  }

  #hold(error: unknown): void {
    const { clock, logger, limits } = this.#deps;
    const message = isDiskFull(error)
      ? "The gateway's disk is full: new calls are refused until there is space again."
      : "The gateway cannot write its journal: new calls are refused until it can.";
    if (!this.#trouble)
      logger.error({ error: String(error), waitingBytes: this.#batchBytes }, "the journal cannot be written; new calls are refused");
    this.#trouble = new AppError("UNAVAILABLE", message, { internal: String(error), cause: error, retryAfterSeconds: RETRY_AFTER_SECONDS });
    this.#stopProbe?.();
    this.#stopProbe = clock.after(limits.probeMs, () => this.flush());
  }

  #overcome(): void {
    if (!this.#trouble) return;
    this.#trouble = undefined;
    this.#stopProbe?.();
    this.#stopProbe = undefined;
    this.#deps.logger.info({}, "the journal can be written again");
  }

  /** One sync at a time; records that arrive meanwhile share the next. */
  async #syncAll(): Promise<void> {
    if (this.#syncing) return;
    this.#syncing = true;
    try {
      while (this.#safe < this.#written) await this.#syncOnce();
    } catch (error) {
      this.#break(error);
    } finally {
      this.#syncing = false;
    }
  }

  async #syncOnce(): Promise<void> {
    const { disk, folder } = this.#deps;
    const upTo = this.#written;
    const files = [...this.#unsynced];
    this.#unsynced = new Map();
    for (const [, file] of files) await file.datasync();
    if (this.#folderUnsynced) {
      this.#folderUnsynced = false;
      await disk.syncFolder(folder);
    }
    for (const [segment, file] of files) if (segment !== this.#segment && !this.#unsynced.has(segment)) file.close();
    this.#becomeSafe(upTo);
  }

  #becomeSafe(sequence: number): void {
    this.#safe = sequence;
    this.#deps.onSafe(sequence);
    this.#resolveWaiters(sequence);
  }

  #resolveWaiters(sequence: number): void {
    const count = this.#waiters.findIndex((waiter) => waiter.sequence > sequence);
    const done = this.#waiters.splice(0, count === -1 ? this.#waiters.length : count);
    for (const { resolve } of done) resolve();
  }

  #rejectWaiters(error: unknown): void {
    for (const { reject } of this.#waiters.splice(0)) reject(error);
  }

  /**
   * After a failed sync the operating system may have dropped the writes and marked them clean, so a second sync could succeed without the
   * data.
   */
  #break(error: unknown): void {
    this.#isBroken = true;
    const message = "The gateway's journal is broken: the gateway has to be restarted.";
    this.#trouble = new AppError("UNAVAILABLE", message, { internal: String(error), cause: error });
    this.#deps.logger.error({ error: String(error) }, "the journal could not be synced to disk; this process must end");
    this.#rejectWaiters(this.#trouble);
    this.#deps.onBroken(error);
  }
}
