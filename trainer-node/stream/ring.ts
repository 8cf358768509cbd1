import type { ByteSource } from "./byte-source.ts";

/**
 * A body on its way from the socket to a worker thread: a ring in shared memory. The event loop copies in what arrives and waits, without
 * blocking, while the ring is full; the worker reads in place and blocks while it is empty. So the slower side sets the pace, and a body
 * of any size needs no more than the ring.
 */
export type RingMemory = SharedArrayBuffer;

const HEADER_BYTES = 16;
/** Places in the header. Counts go round at 2^32; their difference does not mind. */
const [WRITTEN, READ, STATE] = [0, 1, 2];
/** 0 while the body is on its way. */
const [ENDED, BROKEN] = [1, 2];
/** How long a side sleeps before it looks again whether the other is still there. */
const LOOK_AGAIN_MS = 500;

export class BrokenBody extends Error {}

/** `bytes` must be a power of two, so that counts and places agree when the counts go round. */
export function createRing(bytes: number): RingMemory {
  return new SharedArrayBuffer(HEADER_BYTES + bytes);
}

export interface RingWriter {
  /** Settles when the bytes are in the ring; false when `stopped` came first. */
  write(bytes: Uint8Array, stopped: AbortSignal): Promise<boolean>;
  end(): void;
  /** The rest will not come: the reader throws BrokenBody. */
  fail(): void;
}

export function ringWriter(memory: RingMemory): RingWriter {
  const header = new Int32Array(memory, 0, HEADER_BYTES / 4);
  const data = Buffer.from(memory, HEADER_BYTES);
  const close = (state: number): void => {
    Atomics.store(header, STATE, state);
    Atomics.notify(header, WRITTEN);
  };
  return {
    write: async (bytes, stopped) => {
      let done = 0;
      while (done < bytes.byteLength) {
        if (stopped.aborted) return false;
        const written = Atomics.load(header, WRITTEN);
        const read = Atomics.load(header, READ);
        const free = data.byteLength - ((written - read) >>> 0);
        if (free === 0) {
          const wait = Atomics.waitAsync(header, READ, read, LOOK_AGAIN_MS);
          if (wait.async) await wait.value;
          continue;
        }
        const at = (written >>> 0) % data.byteLength;
        const size = Math.min(free, data.byteLength - at, bytes.byteLength - done);
        // Not `set`, which copies shared memory a word at a time.
        Buffer.from(bytes.buffer, bytes.byteOffset + done, size).copy(data, at);
        Atomics.store(header, WRITTEN, (written + size) | 0);
        Atomics.notify(header, WRITTEN);
        done += size;
      }
      return true;
    },
    end: () => close(ENDED),
    fail: () => close(BROKEN),
  };
}

export function ringSource(memory: RingMemory): ByteSource {
  const header = new Int32Array(memory, 0, HEADER_BYTES / 4);
  const data = Buffer.from(memory, HEADER_BYTES);
  let lent = 0;
  return {
    next: () => {
      const read = (Atomics.load(header, READ) + lent) | 0;
      lent = 0;
      Atomics.store(header, READ, read);
      Atomics.notify(header, READ);
      for (;;) {
        // The state first: what was written before the end must still be seen after it.
        const state = Atomics.load(header, STATE);
        const waiting = (Atomics.load(header, WRITTEN) - read) >>> 0;
        if (waiting > 0) {
          const at = (read >>> 0) % data.byteLength;
          lent = Math.min(waiting, data.byteLength - at);
          return data.subarray(at, at + lent);
        }
        if (state === ENDED) return undefined;
        if (state === BROKEN) throw new BrokenBody("the body ended before it was whole");
        Atomics.wait(header, WRITTEN, read, LOOK_AGAIN_MS);
      }
    },
  };
}
