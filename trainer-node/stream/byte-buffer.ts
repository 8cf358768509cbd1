import { TrainerError } from "../errors.ts";
import { copyBytes } from "./copy-bytes.ts";

/** An array that grows by doubling, up to a limit. Made once and filled again and again, it allocates for the largest only. */
export interface ByteBuffer {
  /** Room for so many more bytes; the caller writes there and then says how many by `advance`. */
  room(bytes: number): Uint8Array<ArrayBuffer>;
  advance(bytes: number): void;
  append(bytes: Uint8Array): void;
  /** Standard base64 without padding, whole groups of four, as ASCII. False, and nothing appended, where a character is none of it. */
  appendBase64(text: Uint8Array): boolean;
  /** What was written; good until the buffer is cleared. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  clear(): void;
}

const START_BYTES = 4096;
const [MINUS, UNDERSCORE] = [0x2d, 0x5f];

export function createByteBuffer(limitBytes: number): ByteBuffer {
  let whole = new Uint8Array(Math.min(START_BYTES, limitBytes));
  let used = 0;
  const room = (bytes: number): Uint8Array<ArrayBuffer> => {
    const needed = used + bytes;
    if (needed > limitBytes) throw tooManyBytes(needed, limitBytes);
    if (needed > whole.byteLength) {
      const larger = new Uint8Array(Math.min(limitBytes, Math.max(needed, whole.byteLength * 2)));
      larger.set(whole.subarray(0, used));
      whole = larger;
    }
    return whole.subarray(used, needed);
  };
  return {
    room,
    advance: (bytes) => {
      used += bytes;
    },
    append: (bytes) => {
      copyBytes(bytes, room(bytes.byteLength));
      used += bytes.byteLength;
    },
    appendBase64: (text) => {
      const expected = (text.byteLength / 4) * 3;
      const target = room(expected + 2);
      const characters = Buffer.from(text.buffer, text.byteOffset, text.byteLength);
      const written = Buffer.from(target.buffer, target.byteOffset, target.byteLength).write(characters.toString("latin1"), "base64");
      // The decoder skips what it does not know, and takes the URL-safe alphabet too: either shows here.
      if (written !== expected || characters.includes(MINUS) || characters.includes(UNDERSCORE)) return false;
      used += expected;
      return true;
    },
    get bytes() {
      return whole.subarray(0, used);
    },
    clear: () => {
      used = 0;
    },
  };
}

export function tooManyBytes(sizeBytes: number, limitBytes: number): TrainerError {
  return new TrainerError("PAYLOAD_TOO_LARGE", `One part of the body has ${sizeBytes} bytes or more; at most ${limitBytes} are taken.`, {
    details: { limit_bytes: limitBytes, size_bytes: sizeBytes },
  });
}
