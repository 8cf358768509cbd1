import type { ByteSource } from "./byte-source.ts";
import { copyBytes } from "./copy-bytes.ts";

/**
 * A ring buffer in shared memory that carries a body from the socket to a worker thread. The event loop copies chunks in and waits without
 * blocking while the ring is full. The worker reads in place and blocks while it is empty. So the slower side sets the pace, and a body of
 * any size needs no more memory than the ring.
 */
export type RingMemory = SharedArrayBuffer;

const HEADER_BYTES = 16;
/** Indexes in the header. Counts wrap around at 2^32, and their difference stays correct. */
const [WRITTEN, READ, STATE, WANTED] = [0, 1, 2, 3];
const [ARRIVING, ENDED, BROKEN] = [0, 1, 2];
/** A waiting reader is woken for a part of the ring, because waking a thread costs as much as copying a few bytes. */
const PARTS = 4;
/** How long a side sleeps before it checks whether the other side is still there. */
const RECHECK_MS = 500;

/** The body ended before it was complete. */
export class BrokenBody extends Error {}

/** Creates a ring. `bytes` must be a power of two, so that counts and positions agree when the counts wrap around. */
export function createRing(bytes: number): RingMemory {
  return new SharedArrayBuffer(HEADER_BYTES + bytes);
}

/** The writing side of a ring. */
export interface RingWriter {
  /** Writes as many bytes as fit at once and returns their number. */
  offer(bytes: Uint8Array): number;
  /** Settles when the bytes are in the ring; false if `stopped` aborted first. */
  write(bytes: Uint8Array, stopped: AbortSignal): Promise<boolean>;
  end(): void;
  /** Marks the body as broken: the reader throws BrokenBody. */
  fail(): void;
}

/** Opens the writing side. */
export function ringWriter(memory: RingMemory): RingWriter {
  const header = new Int32Array(memory, 0, HEADER_BYTES / 4);
  const data = Buffer.from(memory, HEADER_BYTES);
  const close = (state: number): void => {
    Atomics.store(header, STATE, state);
    Atomics.notify(header, WRITTEN);
  };
  const offer = (bytes: Uint8Array): number => {
    const written = Atomics.load(header, WRITTEN);
    const held = (written - Atomics.load(header, READ)) >>> 0;
    const size = Math.min(data.byteLength - held, bytes.byteLength);
    if (size === 0) return 0;
    const at = (written >>> 0) % data.byteLength;
    // Bytes beyond the end of the ring continue at its beginning.
    const first = Math.min(size, data.byteLength - at);
    copyBytes(bytes.subarray(0, first), data.subarray(at));
    copyBytes(bytes.subarray(first, size), data);
    Atomics.store(header, WRITTEN, (written + size) | 0);
    const wanted = Atomics.load(header, WANTED);
    if (wanted > 0 && held + size >= wanted) Atomics.notify(header, WRITTEN);
    return size;
  };
  return {
    offer,
    write: async (bytes, stopped) => {
      for (let done = 0; done < bytes.byteLength; ) {
        if (stopped.aborted) return false;
        const read = Atomics.load(header, READ);
        const taken = offer(bytes.subarray(done));
        done += taken;
        if (taken > 0) continue;
        const wait = Atomics.waitAsync(header, READ, read, RECHECK_MS);
        if (wait.async) await wait.value;
      }
      return true;
    },
    end: () => close(ENDED),
    fail: () => close(BROKEN),
  };
}

/** Opens the reading side. */
export function ringSource(memory: RingMemory): ByteSource {
  const header = new Int32Array(memory, 0, HEADER_BYTES / 4);
  const data = Buffer.from(memory, HEADER_BYTES);
  const part = Math.max(1, data.byteLength / PARTS);
  let lent = 0;
  return {
    next: () => {
      const read = (Atomics.load(header, READ) + lent) | 0;
      lent = 0;
      Atomics.store(header, READ, read);
      Atomics.notify(header, READ);
      for (let slept = false; ; slept = true) {
        Atomics.store(header, WANTED, part);
        // The state is read first: bytes that were written before the end must be seen after it.
        const state = Atomics.load(header, STATE);
        const written = Atomics.load(header, WRITTEN);
        const waiting = (written - read) >>> 0;
        if (waiting >= part || (waiting > 0 && (slept || state !== ARRIVING))) {
          Atomics.store(header, WANTED, 0);
          const at = (read >>> 0) % data.byteLength;
          // At most a part is lent, so that the writer has space again before the reader has used all of it.
          lent = Math.min(waiting, part, data.byteLength - at);
          return data.subarray(at, at + lent);
        }
        if (state === ENDED) return undefined;
        if (state === BROKEN) throw new BrokenBody("the body ended before it was complete");
        Atomics.wait(header, WRITTEN, written, RECHECK_MS);
      }
    },
  };
}
