import { join } from "node:path";
import type { Disk } from "../../../common/disk.ts";
import type { Logger } from "../../../common/logger.ts";
import { isFinal } from "./final-record.ts";
import { decodeHeader, type FileEnd, type FileHeader, type Frame, readFrames } from "./frame.ts";
import { callIdOf, RECORD_TYPE, unpackAcknowledged, unpackIntent, unpackProgress, unpackServed } from "./records.ts";
import type { OpenRecords } from "./recover.ts";
import { epochOfName, isSegmentName, type Segment } from "./segment.ts";

/** The content of a journal's folder, all files read in order. */
export interface Replay {
  readonly segments: Segment[];
  /** Calls without a final, oldest first, each with the file of its intent. */
  readonly open: readonly (OpenRecords & { readonly segment: Segment })[];
  /** Sequences of the unacknowledged finals, in order. */
  readonly unacknowledged: readonly number[];
  readonly watermark: number;
  readonly lastSequence: number;
  readonly lastEpoch: number;
  readonly records: number;
  /** Bytes of writes that a crash cut short. */
  readonly tornBytes: number;
  /** Files with a bad record before good ones; each was copied aside. */
  readonly damagedFiles: readonly string[];
  /** Edge ids of earlier processes that wrote files here. */
  readonly endedEdges: readonly string[];
}

export interface ReplayDeps {
  readonly disk: Disk;
  readonly folder: string;
  readonly edgeId: string;
  readonly logger: Logger;
}

const ASIDE = ".damaged";

export function replayFolder(deps: ReplayDeps): Replay {
  const reader = new FolderReader(deps);
  const names = deps.disk.list(deps.folder).filter(isSegmentName).sort();
  for (const name of names) reader.readFile(name);
  return reader.result();
}

/** The records as they are in the file: only those of a call without a final are decoded. */
interface OpenCall {
  readonly intent: Buffer;
  readonly segment: Segment;
  served?: Buffer;
  progress?: Buffer;
}

class FolderReader {
  readonly #deps: ReplayDeps;
  readonly #segments: Segment[] = [];
  readonly #open = new Map<string, OpenCall>();
  readonly #finals: number[] = [];
  readonly #damagedFiles: string[] = [];
  readonly #endedEdges = new Set<string>();
  #watermark = 0;
  #lastSequence = 0;
  #lastEpoch = 0;
  #records = 0;
  #tornBytes = 0;

  constructor(deps: ReplayDeps) {
    this.#deps = deps;
  }

  readFile(name: string): void {
    const { disk, folder, edgeId } = this.#deps;
    const path = join(folder, name);
    const bytes = disk.read(path);
    const decoded = decodeHeader(bytes);
    // The file name counts too: an epoch whose header cannot be read was still used.
    this.#lastEpoch = Math.max(this.#lastEpoch, epochOfName(name));
    if (typeof decoded === "string") {
      this.#readNothing(path, bytes, decoded);
      return;
    }
    const { header } = decoded;
    if (header.edgeId !== edgeId) this.#endedEdges.add(header.edgeId);
    this.#watermark = Math.max(this.#watermark, header.watermark);
    this.#lastSequence = Math.max(this.#lastSequence, header.firstSequence - 1);
    const segment = segmentOf(path, header);
    this.#segments.push(segment);
    const end = this.#readRecords(segment, readFrames(bytes, decoded));
    segment.bytes = end.state === "whole" ? bytes.length : this.#cut(path, bytes, end);
  }

  result(): Replay {
    const watermark = this.#watermark;
    const open = [...this.#open.values()].map(({ intent, served, progress, segment }) => ({
      intent: unpackIntent(intent),
      served: served && unpackServed(served),
      progress: progress && unpackProgress(progress),
      segment,
    }));
    for (const { segment } of open) segment.openCalls++;
    return {
      segments: this.#segments,
      open,
      unacknowledged: this.#finals.filter((sequence) => sequence > watermark),
      watermark,
      // Acknowledged sequences are used up, also those that a power cut removed from the file.
      lastSequence: Math.max(this.#lastSequence, watermark),
      lastEpoch: this.#lastEpoch,
      records: this.#records,
      tornBytes: this.#tornBytes,
      damagedFiles: this.#damagedFiles,
      endedEdges: [...this.#endedEdges],
    };
  }

  #readRecords(segment: Segment, frames: Generator<Frame, FileEnd>): FileEnd {
    for (let next = frames.next(); ; next = frames.next()) {
      if (next.done) return next.value;
      const frame = next.value;
      this.#records++;
      this.#take(frame, segment);
      segment.lastSequence = frame.sequence;
      this.#lastSequence = Math.max(this.#lastSequence, frame.sequence);
    }
  }

  #take({ type, sequence, payload }: Frame, segment: Segment): void {
    if (type === RECORD_TYPE.acknowledged) {
      this.#watermark = Math.max(this.#watermark, unpackAcknowledged(payload));
      return;
    }
    const callId = callIdOf(type, payload);
    if (isFinal(type)) {
      this.#open.delete(callId);
      segment.lastFinal = sequence;
      // A half-written batch that could not be truncated is in two files; it counts once.
      if (sequence > (this.#finals.at(-1) ?? 0)) this.#finals.push(sequence);
    } else if (type === RECORD_TYPE.intent) {
      // Written again when an old file is removed: the records after it may have been cut short, so the earlier ones still apply.
      this.#open.set(callId, { ...this.#open.get(callId), intent: payload, segment });
    } else {
      const call = this.#open.get(callId);
      if (call && type === RECORD_TYPE.served) call.served = payload;
      if (call && type === RECORD_TYPE.progress) call.progress = payload;
    }
  }

  #readNothing(path: string, bytes: Buffer, header: "unfinished" | "unreadable"): void {
    const { disk, logger } = this.#deps;
    if (header === "unfinished") {
      this.#tornBytes += bytes.length;
      disk.remove(path);
      return;
    }
    this.#damagedFiles.push(path);
    const renamedTo = `${path}${ASIDE}`;
    logger.error({ path, bytes: bytes.length, renamedTo }, "a journal file has no readable header; its calls are not settled");
    disk.rename(path, renamedTo);
  }

  /** Truncates what cannot be read, a damaged file only after a copy. Returns the remaining bytes. */
  #cut(path: string, bytes: Buffer, { state, goodBytes }: Exclude<FileEnd, { state: "whole" }>): number {
    const { logger } = this.#deps;
    const lostBytes = bytes.length - goodBytes;
    if (state === "torn") {
      this.#tornBytes += lostBytes;
      logger.warn({ path, goodBytes, lostBytes }, "the last write to a journal file was cut short; the rest of the file is whole");
    } else {
      this.#damagedFiles.push(path);
      logger.error(
        { path, goodBytes, lostBytes, copiedTo: `${path}${ASIDE}` },
        "a journal file is damaged; what follows the damage is not settled",
      );
    }
    try {
      if (state === "damaged") this.#copyAside(path, bytes);
      const file = this.#deps.disk.append(path);
      file.truncate(goodBytes);
      file.close();
    } catch (error) {
      // The next start reads up to the same offset: only disk space or the right to write is missing.
      logger.error({ path, error: String(error) }, "a journal file could not be repaired and stays as it is");
    }
    return goodBytes;
  }

  #copyAside(path: string, bytes: Buffer): void {
    const { disk, folder } = this.#deps;
    const aside = `${path}${ASIDE}`;
    if (disk.list(folder).some((name) => join(folder, name) === aside)) disk.remove(aside);
    const copy = disk.create(aside);
    copy.write(bytes);
    copy.close();
  }
}

function segmentOf(path: string, { epoch, number, firstSequence }: FileHeader): Segment {
  return { path, epoch, number, firstSequence, lastSequence: firstSequence - 1, lastFinal: 0, bytes: 0, openCalls: 0, safe: true };
}
