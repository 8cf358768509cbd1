import { randomBytes } from "node:crypto";

/** The port for randomness: unpredictable bytes in production, a seeded stream in the simulation. */
export interface Random {
  bytes(count: number): Buffer;
}

const POOL_BYTES = 8192;
let pool = Buffer.alloc(0);
let used = 0;

/**
 * Randomness of the operating system, fetched in larger blocks, so that an ID costs a copy and not a system call. Every byte is used once
 * and wiped from the pool.
 */
export const systemRandom: Random = {
  bytes: (count) => {
    if (count > POOL_BYTES / 8) return randomBytes(count);
    if (pool.length - used < count) {
      pool = randomBytes(POOL_BYTES);
      used = 0;
    }
    const taken = Buffer.allocUnsafe(count);
    for (let index = 0; index < count; index++, used++) {
      taken[index] = pool[used] as number;
      pool[used] = 0;
    }
    return taken;
  },
};

const FRACTION_BYTES = 6;
const FRACTION_SPAN = 2 ** (8 * FRACTION_BYTES);

/** A number from 0 up to, not including, 1. */
export function randomFraction(random: Random): number {
  return random.bytes(FRACTION_BYTES).readUIntBE(0, FRACTION_BYTES) / FRACTION_SPAN;
}

/** A name that nothing else has: of a temporary file, or of the boundary in a form. */
export const uniqueName = (): string => systemRandom.bytes(16).toString("hex");
