import { TrainerError } from "../errors.ts";
import { copyBytes } from "./copy-bytes.ts";

/** An array that grows by doubling up to a limit. It is reused, so that it allocates for the largest content only. */
export interface ByteBuffer {
  /** Returns space for more bytes. The caller writes to it and then calls `advance`. */
  room(bytes: number): Uint8Array<ArrayBuffer>;
  advance(bytes: number): void;
  append(bytes: Uint8Array): void;
  /**
   * Appends decoded base64: the standard alphabet as ASCII, without padding, complete groups of four. Returns false and appends nothing if
   * a character is invalid.
   */
  appendBase64(text: Uint8Array): boolean;
  /** The bytes written so far, valid until the buffer is cleared. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  clear(): void;
}

const START_BYTES = 4096;
const [MINUS, UNDERSCORE] = [0x2d, 0x5f];

/** Creates a buffer with a limit. */
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
      // Node's decoder skips unknown characters and accepts the URL-safe alphabet; both are detected here.
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

/** The error for a part above its limit. */
export function tooManyBytes(sizeBytes: number, limitBytes: number): TrainerError {
  return new TrainerError("PAYLOAD_TOO_LARGE", `One part of the body has ${sizeBytes} bytes or more; the limit is ${limitBytes}.`, {
    details: { limit_bytes: limitBytes, size_bytes: sizeBytes },
  });
}
