import { crc32c } from "./crc32c.ts";
import type { RecordType } from "./records.ts";

// A journal file is a header and then records, back to back:
//   header: magic "TRJL", version u16, length u16, epoch u64, number u32, first sequence u64, watermark u64, edge id, crc32c u32
//   record: length u32 of what follows the checksum, crc32c u32, sequence u64, type u8, payload
// All big-endian. A record's checksum goes on from its file's epoch and edge: what an older file left on the same blocks is not taken for ours.

export interface FileHeader {
  readonly edgeId: string;
  /** Grows with every start of the edge: a sequence is unique in its epoch, whatever a crash did to the previous epoch. */
  readonly epoch: number;
  /** Of the file in its epoch. */
  readonly number: number;
  readonly firstSequence: number;
  /** All finals up to this sequence were acknowledged when the file was created. */
  readonly watermark: number;
}

export interface Frame {
  readonly type: RecordType;
  readonly sequence: number;
  readonly payload: Buffer;
}

/** How the frames of a file end. */
export type FileEnd =
  | { readonly state: "whole" }
  /** The last write was cut short; nothing was written after `goodBytes`. */
  | { readonly state: "torn"; readonly goodBytes: number }
  /** A bad record before good ones: a crash does not leave this. */
  | { readonly state: "damaged"; readonly goodBytes: number };

const MAGIC = 0x54524a4c;
const VERSION = 1;
const EDGE_ID_AT = 36;
const CHECKSUM_BYTES = 4;

const PREFIX_BYTES = 8;
const SEQUENCE_AND_TYPE_BYTES = 9;
export const FRAME_OVERHEAD_BYTES = PREFIX_BYTES + SEQUENCE_AND_TYPE_BYTES;
/** No row comes near this size; a larger length is not a valid record. */
export const PAYLOAD_BYTES_MAX = 1_048_576;

export function encodeHeader({ edgeId, epoch, number, firstSequence, watermark }: FileHeader): Buffer {
  const name = Buffer.from(edgeId);
  const header = Buffer.alloc(EDGE_ID_AT + name.length + CHECKSUM_BYTES);
  header.writeUInt32BE(MAGIC, 0);
  header.writeUInt16BE(VERSION, 4);
  header.writeUInt16BE(header.length, 6);
  header.writeBigUInt64BE(BigInt(epoch), 8);
  header.writeUInt32BE(number, 16);
  header.writeBigUInt64BE(BigInt(firstSequence), 20);
  header.writeBigUInt64BE(BigInt(watermark), 28);
  name.copy(header, EDGE_ID_AT);
  header.writeUInt32BE(crc32c(header, { to: header.length - CHECKSUM_BYTES }), header.length - CHECKSUM_BYTES);
  return header;
}

/**
 * The header and its length. `unfinished`: the file was created and nothing follows its incomplete header; `unreadable`: something follows.
 * A newer version is an error.
 */
export function decodeHeader(bytes: Buffer): { header: FileHeader; length: number } | "unfinished" | "unreadable" {
  if (bytes.length < EDGE_ID_AT + CHECKSUM_BYTES) return "unfinished";
  const length = bytes.readUInt16BE(6);
  if (bytes.readUInt32BE(0) !== MAGIC || length < EDGE_ID_AT + CHECKSUM_BYTES) return "unreadable";
  if (length > bytes.length) return "unfinished";
  if (bytes.readUInt32BE(length - CHECKSUM_BYTES) !== crc32c(bytes, { to: length - CHECKSUM_BYTES })) {
    return length === bytes.length ? "unfinished" : "unreadable";
  }
  const version = bytes.readUInt16BE(4);
  if (version !== VERSION) throw new Error(`a journal file has version ${version}; this edge reads version ${VERSION}`);
  const header = {
    edgeId: bytes.toString("utf8", EDGE_ID_AT, length - CHECKSUM_BYTES),
    epoch: Number(bytes.readBigUInt64BE(8)),
    number: bytes.readUInt32BE(16),
    firstSequence: Number(bytes.readBigUInt64BE(20)),
    watermark: Number(bytes.readBigUInt64BE(28)),
  };
  return { header, length };
}

/** Where the checksums of an epoch start. */
export function checksumSeed({ edgeId, epoch }: Pick<FileHeader, "edgeId" | "epoch">): number {
  return crc32c(Buffer.from(`${edgeId}/${epoch}`));
}

/** Writes a record at an offset of a buffer that has the room; returns where the next one goes. */
export function putFrame(target: Buffer, at: number, { type, sequence, payload, seed }: Frame & { seed: number }): number {
  const start = at + PREFIX_BYTES;
  const end = start + SEQUENCE_AND_TYPE_BYTES + payload.length;
  target.writeUInt32BE(end - start, at);
  target.writeUInt32BE(Math.floor(sequence / 2 ** 32), start);
  target.writeUInt32BE(sequence >>> 0, start + 4);
  target[start + 8] = type;
  target.set(payload, start + SEQUENCE_AND_TYPE_BYTES);
  target.writeUInt32BE(crc32c(target, { from: start, to: end, seed }), at + 4);
  return end;
}

/** The records of a file in their order, up to the first bad one; returns how the file ends. Payloads are views of `bytes`. */
export function* readFrames(bytes: Buffer, { header, length }: { header: FileHeader; length: number }): Generator<Frame, FileEnd> {
  const seed = checksumSeed(header);
  let at = length;
  for (let sequence = header.firstSequence; at < bytes.length; sequence++) {
    const frame = frameAt(bytes, at, seed);
    if (frame?.sequence !== sequence) {
      return { state: hasFrameAfter(bytes, { at, sequence, seed }) ? "damaged" : "torn", goodBytes: at };
    }
    yield frame;
    at += FRAME_OVERHEAD_BYTES + frame.payload.length;
  }
  return { state: "whole" };
}

function frameAt(bytes: Buffer, at: number, seed: number): Frame | undefined {
  if (at + FRAME_OVERHEAD_BYTES > bytes.length) return undefined;
  const length = bytes.readUInt32BE(at);
  const start = at + PREFIX_BYTES;
  const end = start + length;
  if (length < SEQUENCE_AND_TYPE_BYTES || length > PAYLOAD_BYTES_MAX + SEQUENCE_AND_TYPE_BYTES || end > bytes.length) return undefined;
  if (bytes.readUInt32BE(at + 4) !== crc32c(bytes, { from: start, to: end, seed })) return undefined;
  const sequence = bytes.readUInt32BE(start) * 2 ** 32 + bytes.readUInt32BE(start + 4);
  return { type: bytes[start + 8] as RecordType, sequence, payload: bytes.subarray(start + SEQUENCE_AND_TYPE_BYTES, end) };
}

/** Whether any later record of this file can be read. The sequence is compared first: a checksum at every offset would take minutes. */
function hasFrameAfter(bytes: Buffer, bad: { at: number; sequence: number; seed: number }): boolean {
  const last = bad.sequence + Math.ceil((bytes.length - bad.at) / FRAME_OVERHEAD_BYTES);
  for (let at = bad.at + 1; at + FRAME_OVERHEAD_BYTES <= bytes.length; at++) {
    const sequence = bytes.readUInt32BE(at + PREFIX_BYTES) * 2 ** 32 + bytes.readUInt32BE(at + PREFIX_BYTES + 4);
    if (sequence >= bad.sequence && sequence <= last && frameAt(bytes, at, bad.seed)) return true;
  }
  return false;
}
