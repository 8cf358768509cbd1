import type { Clock } from "../../../common/clock.ts";
import type { Disk } from "../../../common/disk.ts";
import { AppError } from "../../../common/errors.ts";
import { toJson } from "../../../common/json.ts";
import type { Logger } from "../../../common/logger.ts";
import type { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { encodeRow } from "../../access/clients/settle-request.ts";
import { Backlog } from "./backlog.ts";
import { Settlement } from "./final-record.ts";
import type { Journal, JournalFigures, JournalHealth, JournalStart } from "./journal.ts";
import {
  type Intent,
  type Progress,
  packAcknowledged,
  packIntent,
  packProgress,
  packServed,
  RECORD_TYPE,
  type ServedRecord,
} from "./records.ts";
import { recoveredLog } from "./recover.ts";
import { type Replay, replayFolder } from "./replay.ts";
import { removable, type Segment } from "./segment.ts";
import { type JournalSync, JournalWriter, type WriterLimits } from "./writer.ts";

export interface JournalOptions {
  readonly disk: Disk;
  /** Belongs to this edge alone: two processes on one folder would take each other's running calls for dead. */
  readonly folder: string;
  readonly edgeId: string;
  readonly sync: JournalSync;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The disk failed to make written data durable: the process must end, and its restart reads what is on disk. */
  readonly onBroken: (error: unknown) => void;
  readonly limits?: Partial<JournalLimits>;
}

export interface JournalLimits extends WriterLimits {
  /** Unacknowledged finals in memory; more are read from the files again. */
  readonly inMemoryMax: number;
  /** With more files than this, calls that hold back the oldest file are written again, so that it can be removed. */
  readonly filesMax: number;
}

const LIMITS: JournalLimits = {
  fileBytesMax: 8 * 1024 * 1024,
  heldBytesMax: 64 * 1024 * 1024,
  probeMs: 1000,
  inMemoryMax: 10_000,
  filesMax: 16,
};

export async function openJournal(options: JournalOptions): Promise<Journal> {
  const { disk, folder, logger, clock } = options;
  const startedMs = clock.monotonicMs();
  disk.makeFolder(folder);
  const replay = replayFolder(options);
  const journal = new FileJournal(options, replay);
  await journal.begin(replay);
  const { recovered, ...found } = journal.start;
  const tookMs = Math.round(clock.monotonicMs() - startedMs);
  logger.info({ ...found, recovered: recovered.length, epoch: journal.epoch, tookMs }, "journal opened");
  return journal;
}

/** A call without a final, with the records that recovery would need. */
interface OpenCall {
  segment: Segment;
  readonly intent: Intent;
  served: ServedRecord | undefined;
  progress: Progress | undefined;
}

class FileJournal implements Journal {
  readonly epoch: number;
  readonly start: JournalStart;
  readonly #options: JournalOptions;
  readonly #limits: JournalLimits;
  readonly #segments: Segment[];
  readonly #writer: JournalWriter;
  readonly #backlog: Backlog;
  readonly #open = new Map<string, OpenCall>();
  /** Files that a call no longer needs once this sequence is safe. */
  #releases: { readonly sequence: number; readonly segment: Segment }[] = [];
  #watermark: number;
  #oldestSeen: { readonly sequence: number; readonly at: Date | undefined } | undefined;

  constructor(options: JournalOptions, replay: Replay) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#segments = [...replay.segments];
    this.#watermark = replay.watermark;
    // The clock only makes the epoch larger than any that was used before a folder was lost.
    this.epoch = Math.max(replay.lastEpoch + 1, Math.floor(options.clock.now()));
    const firstSequence = replay.lastSequence + 1;
    const { unacknowledged, records, tornBytes, damagedFiles, endedEdges } = replay;
    this.#backlog = new Backlog({ unacknowledged, nextSequence: firstSequence, inMemoryMax: this.#limits.inMemoryMax });
    const recovered = replay.open.map(recoveredLog);
    const files = replay.segments.length;
    this.start = { files, records, unacknowledged: unacknowledged.length, recovered, tornBytes, damagedFiles, endedEdges };
    this.#writer = new JournalWriter({
      ...options,
      limits: this.#limits,
      epoch: this.epoch,
      firstSequence,
      watermark: () => this.#watermark,
      onSegment: (segment) => this.#segments.push(segment),
      onSafe: (sequence) => this.#becameSafe(sequence),
    });
  }

  /** Writes finals for the calls during which the previous process died: durable before anything else, so that a later recovery cannot differ. */
  async begin(replay: Replay): Promise<void> {
    const { logger } = this.#options;
    this.start.recovered.forEach((log, index) => {
      const segment = replay.open[index]?.segment;
      logger.warn(
        { callId: log.callId, cost: log.cost.toString() },
        "a call during which the gateway died is settled for what was delivered",
      );
      this.#appendFinal(log, segment);
    });
    await this.#writer.settled();
    this.#trim();
  }

  intent(intent: Intent): void {
    if (this.#writer.trouble) throw this.#writer.trouble;
    this.#writer.append(RECORD_TYPE.intent, packIntent(intent));
    const { segment } = this.#writer;
    segment.openCalls++;
    this.#open.set(intent.callId, { segment, intent, served: undefined, progress: undefined });
  }

  served(served: ServedRecord): void {
    const call = this.#open.get(served.callId);
    if (call) call.served = served;
    // Written with the finals while the disk accepts no writes: it determines what the call costs.
    this.#writer.append(RECORD_TYPE.served, packServed(served));
  }

  progress(progress: Progress): void {
    const call = this.#open.get(progress.callId);
    if (call) call.progress = progress;
    // The next progress record replaces this one, so none has to wait for the disk.
    if (!this.#writer.trouble) this.#writer.append(RECORD_TYPE.progress, packProgress(progress));
  }

  final(log: UsageLog, leaseGeneration?: bigint): Promise<void> {
    try {
      return this.#writer.safe(this.#appendFinal(log, this.#open.get(log.callId)?.segment, leaseGeneration));
    } catch (error) {
      // No finished call may be lost without a trace: a row that cannot be stored is at least logged.
      this.#options.logger.error({ row: toJson(log), error: String(error) }, "a finished call could not be written to the journal");
      return Promise.reject(error);
    }
  }

  *unacknowledged(from = 0): Generator<Settlement> {
    for (let after = Math.max(from, this.#watermark); ; ) {
      for (const settlement of this.#notInMemory(after)) {
        after = settlement.sequence;
        yield settlement;
      }
      after = Math.max(after, this.#watermark, this.#backlog.inMemoryFrom - 1);
      const settlement = this.#backlog.nextInMemory(after);
      if (!settlement || settlement.sequence > this.#offered()) return;
      after = settlement.sequence;
      yield settlement;
    }
  }

  acknowledge(sequence: number): void {
    if (sequence <= this.#watermark) return;
    if (sequence > this.#writer.lastSequence) {
      throw new AppError("SERVER_ERROR", "Something went wrong on our side.", { internal: `sequence ${sequence} was never given out` });
    }
    this.#watermark = sequence;
    this.#backlog.acknowledge(sequence);
    this.#writer.release(sequence);
    // Not awaited: if this record is lost, the ledger receives rows again that it already has, and nothing changes.
    if (!this.#writer.trouble) this.#writer.append(RECORD_TYPE.acknowledged, packAcknowledged(sequence));
    if (this.#trim() > 0 && this.#writer.trouble) this.#writer.flush();
  }

  pending(): number {
    return this.#backlog.size;
  }

  healthy(): JournalHealth {
    const { trouble } = this.#writer;
    return trouble ? { ok: false, reason: trouble.message } : { ok: true };
  }

  figures(): JournalFigures {
    const first = this.#segments[0]?.firstSequence ?? this.#writer.lastSequence + 1;
    return {
      openCalls: this.#open.size,
      bytes: this.#segments.reduce((sum, { bytes }) => sum + bytes, 0),
      records: this.#writer.lastSequence - first + 1,
      unacknowledged: this.#backlog.size,
      oldestUnacknowledgedAt: this.#oldest(),
    };
  }

  close(): Promise<void> {
    return this.#writer.close();
  }

  #appendFinal(log: UsageLog, began: Segment | undefined, leaseGeneration = 0n): number {
    const row = encodeRow(log);
    const sequence = this.#writer.append(RECORD_TYPE.final, row);
    this.#writer.segment.lastFinal = sequence;
    this.#open.delete(log.callId);
    if (began) this.#releases.push({ sequence, segment: began });
    this.#backlog.add(new Settlement(log, { sequence, row, leaseGeneration }), this.#writer.safeSequence);
    return sequence;
  }

  #oldest(): Date | undefined {
    const sequence = this.#backlog.first;
    if (sequence === undefined) return undefined;
    // It may have to be read from a file, so it is read once while it stays the oldest.
    if (this.#oldestSeen?.sequence !== sequence) {
      const [settlement] = this.unacknowledged().take(1);
      this.#oldestSeen = settlement?.sequence === sequence ? { sequence, at: settlement.log.completedAt } : undefined;
    }
    return this.#oldestSeen?.at;
  }

  /** From the files. Everything is looked up again after each final: meanwhile files are added and removed, and more finals may leave memory. */
  *#notInMemory(after: number): Generator<Settlement> {
    for (let position = after; position + 1 < this.#backlog.inMemoryFrom; ) {
      const segment = this.#segments.find(({ lastSequence }) => lastSequence > position);
      if (!segment) return;
      const { lastSequence } = segment;
      for (const settlement of this.#backlog.inFile(this.#options.disk, segment, position)) {
        if (settlement.sequence >= this.#backlog.inMemoryFrom) return;
        yield settlement;
      }
      position = lastSequence;
    }
  }

  /** While the disk accepts no writes, waiting finals are offered too, because the ledger can store them. */
  #offered(): number {
    return this.#writer.trouble ? this.#writer.lastSequence : this.#writer.safeSequence;
  }

  #becameSafe(sequence: number): void {
    for (let index = this.#segments.length - 1; index >= 0; index--) {
      const segment = this.#segments[index];
      // Files become durable in their order.
      if (!segment || segment.safe) break;
      segment.safe = segment.lastSequence >= segment.firstSequence && segment.firstSequence <= sequence;
    }
    const waiting = this.#releases.findIndex((release) => release.sequence > sequence);
    const released = this.#releases.splice(0, waiting === -1 ? this.#releases.length : waiting);
    for (const { segment } of released) segment.openCalls--;
    if (this.#segments.length <= this.#limits.filesMax) return;
    this.#trim();
    this.#carryOver();
  }

  /** Removes files that nothing needs; returns how many. */
  #trim(): number {
    const { disk, logger } = this.#options;
    let removed = 0;
    for (const { path } of removable(this.#segments, this.#watermark)) {
      try {
        disk.remove(path);
      } catch (error) {
        logger.error({ path, error: String(error) }, "a journal file that is no longer needed could not be removed");
        break;
      }
      removed++;
    }
    this.#segments.splice(0, removed);
    return removed;
  }

  /** Writes the calls that hold back the oldest file again, into the newest file. */
  #carryOver(): void {
    const [oldest] = this.#segments;
    if (this.#segments.length <= this.#limits.filesMax || !oldest || oldest.lastFinal > this.#watermark || this.#writer.trouble) return;
    for (const call of this.#open.values()) {
      if (call.segment !== oldest) continue;
      this.#writer.append(RECORD_TYPE.intent, packIntent(call.intent));
      call.segment = this.#writer.segment;
      call.segment.openCalls++;
      if (call.served) this.#writer.append(RECORD_TYPE.served, packServed(call.served));
      if (call.progress) this.#writer.append(RECORD_TYPE.progress, packProgress(call.progress));
      this.#releases.push({ sequence: this.#writer.lastSequence, segment: oldest });
    }
  }
}
