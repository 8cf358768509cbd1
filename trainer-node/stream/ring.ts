import type { ByteSource } from "./byte-source.ts";
import { copyBytes } from "./copy-bytes.ts";

/**
 * A body on its way from the socket to a worker thread: a ring in shared memory. The event loop copies in what arrives and waits, without
 * blocking, while the ring is full; the worker reads in place and blocks while it is empty. So the slower side sets the pace, and a body
 * of any size needs no more than the ring.
 */
export type RingMemory = SharedArrayBuffer;

const HEADER_BYTES = 16;
/** Places in the header. Counts go round at 2^32; their difference does not mind. */
const [WRITTEN, READ, STATE, WANTED] = [0, 1, 2, 3];
const [ON_ITS_WAY, ENDED, BROKEN] = [0, 1, 2];
/** A reader that waits is woken for a part of the ring, not for every few bytes: to wake a thread costs as much as to copy them. */
const PARTS = 4;
/** How long a side sleeps before it looks again whether the other is still there. */
const LOOK_AGAIN_MS = 500;

export class BrokenBody extends Error {}

/** `bytes` must be a power of two, so that counts and places agree when the counts go round. */
export function createRing(bytes: number): RingMemory {
  return new SharedArrayBuffer(HEADER_BYTES + bytes);
}

export interface RingWriter {
  /** Takes what there is room for at once and gives how many bytes that was. */
  offer(bytes: Uint8Array): number;
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
  const offer = (bytes: Uint8Array): number => {
    const written = Atomics.load(header, WRITTEN);
    const held = (written - Atomics.load(header, READ)) >>> 0;
    const size = Math.min(data.byteLength - held, bytes.byteLength);
    if (size === 0) return 0;
    const at = (written >>> 0) % data.byteLength;
    // What goes over the end of the ring goes on at its beginning.
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
        const wait = Atomics.waitAsync(header, READ, read, LOOK_AGAIN_MS);
        if (wait.async) await wait.value;
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
        // The state first: what was written before the end must still be seen after it.
        const state = Atomics.load(header, STATE);
        const written = Atomics.load(header, WRITTEN);
        const waiting = (written - read) >>> 0;
        if (waiting >= part || (waiting > 0 && (slept || state !== ON_ITS_WAY))) {
          Atomics.store(header, WANTED, 0);
          const at = (read >>> 0) % data.byteLength;
          // No more than a part, so that the writer has room again before all of it is used.
          lent = Math.min(waiting, part, data.byteLength - at);
          return data.subarray(at, at + lent);
        }
        if (state === ENDED) return undefined;
        if (state === BROKEN) throw new BrokenBody("the body ended before it was whole");
        Atomics.wait(header, WRITTEN, written, LOOK_AGAIN_MS);
      }
    },
  };
}
