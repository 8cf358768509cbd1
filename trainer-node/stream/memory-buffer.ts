import { createKernels } from "../compute/kernels/create-kernels.ts";
import type { KernelMemory } from "../compute/kernels/kernel-memory.ts";
import { type ByteBuffer, tooManyBytes } from "./byte-buffer.ts";
import { copyBytes } from "./copy-bytes.ts";

/**
 * Size of the part of the memory that holds text until it is decoded: a multiple of sixteen, and small enough for the first-level cache.
 */
const TEXT_BYTES = 2 ** 17;
const GROUP = 16;
/** The decoder writes a few bytes beyond what it decodes. */
const SLACK_BYTES = 64;

/**
 * A buffer above the top of a kernels' memory. Its content can stay there for the kernels without a copy, if its reader reserves that much.
 * `clear` continues above the current top.
 */
export function createMemoryBuffer(memory: KernelMemory, limitBytes: number): ByteBuffer {
  const text = memory.reserve(TEXT_BYTES);
  const kernels = createKernels(0, memory);
  let start = memory.top;
  let used = 0;
  const ensure = (bytes: number): void => {
    const needed = used + bytes;
    if (needed > limitBytes) throw tooManyBytes(needed, limitBytes);
    try {
      memory.ensure(start + needed + SLACK_BYTES);
    } catch {
      throw tooManyBytes(needed, Math.max(0, memory.buffer.byteLength - start));
    }
  };
  const decode = (groups: Uint8Array, to: number): boolean => {
    const place = new Uint8Array(memory.buffer, text, TEXT_BYTES);
    for (let at = 0; at < groups.byteLength; at += TEXT_BYTES) {
      const size = Math.min(TEXT_BYTES, groups.byteLength - at);
      copyBytes(groups.subarray(at, at + size), place);
      if (!kernels.decodeBase64(to + (at / 4) * 3, text, size)) return false;
    }
    return true;
  };
  const room = (bytes: number): Uint8Array<ArrayBuffer> => {
    ensure(bytes);
    return new Uint8Array(memory.buffer, start + used, bytes);
  };
  const advance = (bytes: number): void => {
    used += bytes;
  };
  return {
    room,
    advance,
    append: (bytes) => {
      copyBytes(bytes, room(bytes.byteLength));
      advance(bytes.byteLength);
    },
    appendBase64: (characters) => {
      const whole = characters.byteLength - (characters.byteLength % GROUP);
      ensure((characters.byteLength / 4) * 3);
      if (!decode(characters.subarray(0, whole), start + used)) return false;
      // The last characters are padded to a group with the text for zeros, and the zeros are discarded.
      const rest = Buffer.alloc(GROUP, "A");
      rest.set(characters.subarray(whole));
      if (!decode(rest, start + used + (whole / 4) * 3)) return false;
      advance((characters.byteLength / 4) * 3);
      return true;
    },
    get bytes() {
      return new Uint8Array(memory.buffer, start, used);
    },
    clear: () => {
      start = memory.top;
      used = 0;
    },
  };
}
