import { crc32 } from "node:zlib";
import { AppError } from "../../../../common/errors.ts";
import type { UpstreamEvent } from "../provider.ts";
import { brokenOff, malformed } from "./json-fields.ts";

// A frame: length of all and of the headers, CRC of those eight bytes, headers, payload, CRC of all before it. Big-endian.
const PRELUDE_BYTES = 12;
const CRC_BYTES = 4;
/** The largest frame that AWS allows; without a limit a frame could fill the memory. */
const FRAME_BYTES_MAX = 16 * 1024 * 1024;

/** Bytes of application/vnd.amazon.eventstream as events: named by their type, or by their exception; data is the payload. */
export async function* readAwsEventStream(body: AsyncIterable<Uint8Array>): AsyncGenerator<UpstreamEvent> {
  const queue = new ByteQueue();
  let prelude: Prelude | undefined;
  for await (const bytes of body) {
    queue.push(bytes);
    for (;;) {
      prelude ??= queue.size >= PRELUDE_BYTES ? readPrelude(queue.take(PRELUDE_BYTES)) : undefined;
      if (!prelude || queue.size < prelude.restBytes) break;
      yield readFrame(prelude, queue.take(prelude.restBytes));
      prelude = undefined;
    }
  }
  if (prelude || queue.size > 0) throw brokenOff();
}

/** Chunks as they arrived, joined only when a whole frame is there. */
class ByteQueue {
  #pieces: Uint8Array[] = [];
  size = 0;

  push(bytes: Uint8Array): void {
    this.#pieces.push(bytes);
    this.size += bytes.length;
  }

  take(count: number): Buffer {
    const all = this.#pieces.length === 1 && this.#pieces[0] ? asBuffer(this.#pieces[0]) : Buffer.concat(this.#pieces, this.size);
    this.#pieces = count < all.length ? [all.subarray(count)] : [];
    this.size -= count;
    return all.subarray(0, count);
  }
}

interface Prelude {
  readonly bytes: Buffer;
  readonly headerBytes: number;
  readonly restBytes: number;
}

function readPrelude(bytes: Buffer): Prelude {
  if (crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8)) throw malformed("a frame whose prelude has a wrong checksum");
  const totalBytes = bytes.readUInt32BE(0);
  const headerBytes = bytes.readUInt32BE(4);
  if (totalBytes > FRAME_BYTES_MAX) throw new AppError("UPSTREAM_UNAVAILABLE", "The provider sent an event that is too large.");
  if (totalBytes < PRELUDE_BYTES + headerBytes + CRC_BYTES) throw malformed("a frame that is shorter than its headers");
  return { bytes, headerBytes, restBytes: totalBytes - PRELUDE_BYTES };
}

function readFrame(prelude: Prelude, rest: Buffer): UpstreamEvent {
  const end = rest.length - CRC_BYTES;
  if (crc32(rest.subarray(0, end), crc32(prelude.bytes)) !== rest.readUInt32BE(end)) throw malformed("a frame with a wrong checksum");
  const headers = readHeaders(rest.subarray(0, prelude.headerBytes));
  const messageType = headers.get(":message-type");
  if (messageType === "error") {
    const internal = `${headers.get(":error-code")}: ${headers.get(":error-message")}`;
    throw new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot answer right now.", { internal });
  }
  const event = headers.get(messageType === "exception" ? ":exception-type" : ":event-type");
  return { event, data: rest.toString("utf8", prelude.headerBytes, end) };
}

/** Bytes of a value by its type, where they are fixed: true, false, byte, short, int, long, then timestamp and uuid. */
const VALUE_BYTES: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 };
const STRING_TYPE = 7;

/** The text headers; others are skipped. */
function readHeaders(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  let offset = 0;
  try {
    while (offset < bytes.length) {
      const nameEnd = offset + 1 + bytes.readUInt8(offset);
      const name = bytes.toString("utf8", offset + 1, nameEnd);
      const type = bytes.readUInt8(nameEnd);
      const fixed = VALUE_BYTES[type];
      const start = nameEnd + (fixed === undefined ? 3 : 1);
      offset = start + (fixed ?? bytes.readUInt16BE(nameEnd + 1));
      if (type === STRING_TYPE) headers.set(name, bytes.toString("utf8", start, offset));
    }
  } catch (cause) {
    throw malformed("a frame whose headers are cut", cause);
  }
  if (offset !== bytes.length) throw malformed("a frame whose headers are cut");
  return headers;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
