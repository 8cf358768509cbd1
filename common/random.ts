import { randomBytes } from "node:crypto";

/** Chance, handed in: unpredictable bytes in production, a seeded stream in the simulation. */
export interface Random {
  bytes(count: number): Buffer;
}

const POOL_BYTES = 8192;
let pool = Buffer.alloc(0);

/**
 * The operating system's randomness, fetched in larger pieces: an id costs a copy, not a call. Every byte is handed out once, and
 * wiped from the pool.
 */
export const systemRandom: Random = {
  bytes: (count) => {
    if (count > POOL_BYTES / 8) return randomBytes(count);
    if (pool.length < count) pool = randomBytes(POOL_BYTES);
    const taken = Buffer.from(pool.subarray(0, count));
    pool.fill(0, 0, count);
    pool = pool.subarray(count);
    return taken;
  },
};
