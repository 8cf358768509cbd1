import { crc32, inflateRawSync } from "node:zlib";
import { InputProblem } from "../compute/problem.ts";
import { TrainerError } from "../errors.ts";

/** The first bytes of a zip archive. */
export const ZIP_MAGIC = Uint8Array.of(0x50, 0x4b, 0x03, 0x04);

/** One entry of a zip archive's directory. */
export interface ZipEntry {
  readonly name: string;
  readonly method: number;
  readonly crc: number;
  readonly packedBytes: number;
  readonly bytes: number;
  readonly headerOffset: number;
}

/** A zip bomb is detected by its declared sizes: deflate compresses real weights about 1.1 to 1, zeros 1000 to 1. */
const RATIO_MAX = 100;
const INFLATED_BYTES_MAX = 4 * 1024 ** 3;
const [STORED, DEFLATE] = [0, 8];
const [LOCAL_SIGNATURE, CENTRAL_SIGNATURE, END_SIGNATURE] = [0x0403_4b50, 0x0201_4b50, 0x0605_4b50];
const [LOCAL_BYTES, CENTRAL_BYTES, END_BYTES] = [30, 46, 22];
const COMMENT_BYTES_MAX = 65_535;

/** Reads the directory of an archive. Names and sizes are as declared; nothing is decompressed. */
export function listZip(archive: Uint8Array): ZipEntry[] {
  const view = viewOf(archive);
  const end = findEnd(archive, view);
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  const entries: ZipEntry[] = [];
  for (let index = 0; index < count; index++) {
    if (at + CENTRAL_BYTES > end || view.getUint32(at, true) !== CENTRAL_SIGNATURE) damaged("its directory is invalid");
    const nameBytes = view.getUint16(at + 28, true);
    const next = at + CENTRAL_BYTES + nameBytes + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    if (next > end) damaged("its directory is truncated");
    if ((view.getUint16(at + 8, true) & 1) === 1) damaged("an entry is encrypted");
    entries.push({
      name: Buffer.from(archive.buffer, archive.byteOffset + at + CENTRAL_BYTES, nameBytes).toString("utf8"),
      method: view.getUint16(at + 10, true),
      crc: view.getUint32(at + 16, true),
      packedBytes: view.getUint32(at + 20, true),
      bytes: view.getUint32(at + 24, true),
      headerOffset: view.getUint32(at + 42, true),
    });
    at = next;
  }
  refuseBomb(entries, archive.byteLength);
  return entries;
}

/** Reads one entry and checks its length and CRC. The bytes of a stored entry are a view of the archive. */
export function readZipEntry(archive: Uint8Array, entry: ZipEntry): Uint8Array {
  const view = viewOf(archive);
  const { headerOffset: at, packedBytes, bytes, name } = entry;
  if (at + LOCAL_BYTES > archive.byteLength || view.getUint32(at, true) !== LOCAL_SIGNATURE)
    damaged(`"${name}" is not where the directory says`);
  const start = at + LOCAL_BYTES + view.getUint16(at + 26, true) + view.getUint16(at + 28, true);
  if (start + packedBytes > archive.byteLength) damaged(`"${name}" ends beyond the archive`);
  const packed = archive.subarray(start, start + packedBytes);
  const content = unpack(packed, entry);
  if (content.byteLength !== bytes) damaged(`"${name}" has ${content.byteLength} bytes where ${bytes} are declared`);
  if (crc32(content) !== entry.crc) damaged(`"${name}" fails its CRC`);
  return content;
}

/** Writes an archive of stored entries without timestamps: equal contents give equal bytes. */
export function writeZip(entries: readonly { name: string; content: Uint8Array }[]): Uint8Array<ArrayBuffer> {
  const named = entries.map(({ name, content }) => ({ name: Buffer.from(name), content }));
  const dataBytes = named.reduce((sum, { name, content }) => sum + LOCAL_BYTES + name.byteLength + content.byteLength, 0);
  const directoryBytes = named.reduce((sum, { name }) => sum + CENTRAL_BYTES + name.byteLength, 0);
  if (dataBytes + directoryBytes > 0xffff_ffff || named.length > 0xffff) {
    throw new TrainerError("VALIDATION_ERROR", "the answer is too large for npz; request the format safetensors");
  }
  const archive = new Uint8Array(dataBytes + directoryBytes + END_BYTES);
  const view = viewOf(archive);
  let at = 0;
  let directoryAt = dataBytes;
  for (const { name, content } of named) {
    const crc = crc32(content);
    view.setUint32(directoryAt, CENTRAL_SIGNATURE, true);
    view.setUint16(directoryAt + 4, 20, true);
    view.setUint32(directoryAt + 42, at, true);
    writeCommon(view, directoryAt + 6, { crc, bytes: content.byteLength, nameBytes: name.byteLength });
    archive.set(name, directoryAt + CENTRAL_BYTES);
    view.setUint32(at, LOCAL_SIGNATURE, true);
    writeCommon(view, at + 4, { crc, bytes: content.byteLength, nameBytes: name.byteLength });
    archive.set(name, at + LOCAL_BYTES);
    archive.set(content, at + LOCAL_BYTES + name.byteLength);
    at += LOCAL_BYTES + name.byteLength + content.byteLength;
    directoryAt += CENTRAL_BYTES + name.byteLength;
  }
  view.setUint32(directoryAt, END_SIGNATURE, true);
  view.setUint16(directoryAt + 8, named.length, true);
  view.setUint16(directoryAt + 10, named.length, true);
  view.setUint32(directoryAt + 12, directoryBytes, true);
  view.setUint32(directoryAt + 16, dataBytes, true);
  return archive;
}

/**
 * Writes the fields that local and central headers share, beginning with "version needed". The date is 1980-01-01, the earliest possible.
 */
function writeCommon(view: DataView, at: number, entry: { crc: number; bytes: number; nameBytes: number }): void {
  view.setUint16(at, 20, true);
  view.setUint16(at + 8, 0x21, true);
  view.setUint32(at + 10, entry.crc, true);
  view.setUint32(at + 14, entry.bytes, true);
  view.setUint32(at + 18, entry.bytes, true);
  view.setUint16(at + 22, entry.nameBytes, true);
}

function unpack(packed: Uint8Array, { method, bytes, name }: ZipEntry): Uint8Array {
  if (method === STORED) return packed;
  if (method !== DEFLATE) {
    throw new TrainerError(
      "UNSUPPORTED_PARAMETERS",
      `"${name.slice(0, 100)}" is compressed by method ${method}; this node reads stored and deflate`,
    );
  }
  try {
    // One byte more than declared is allowed, so that a longer stream is detected.
    return inflateRawSync(packed, { maxOutputLength: bytes + 1 });
  } catch {
    return damaged(`"${name.slice(0, 100)}" does not decompress to its declared ${bytes} bytes`);
  }
}

function refuseBomb(entries: readonly ZipEntry[], archiveBytes: number): void {
  const total = entries.reduce((sum, entry) => sum + entry.bytes, 0);
  if (total > archiveBytes * RATIO_MAX || total > INFLATED_BYTES_MAX) {
    throw new TrainerError(
      "PAYLOAD_TOO_LARGE",
      `the archive of ${archiveBytes} bytes would decompress to ${total}; the limit is ${RATIO_MAX} to 1`,
      {
        details: { size_bytes: total, limit_bytes: Math.min(INFLATED_BYTES_MAX, archiveBytes * RATIO_MAX) },
      },
    );
  }
}

function findEnd(archive: Uint8Array, view: DataView): number {
  const last = archive.byteLength - END_BYTES;
  for (let at = last; at >= Math.max(0, last - COMMENT_BYTES_MAX); at--) {
    if (view.getUint32(at, true) === END_SIGNATURE) {
      if (at + END_BYTES + view.getUint16(at + 20, true) !== archive.byteLength) continue;
      return at;
    }
  }
  return damaged("it has no directory");
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function damaged(what: string): never {
  throw new InputProblem("VALIDATION_ERROR", `the zip archive is damaged: ${what}`);
}
