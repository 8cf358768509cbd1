import { randomBytes } from "node:crypto";

/** Chance, handed in: unpredictable bytes in production, a seeded stream in the simulation. */
export interface Random {
  bytes(count: number): Buffer;
}

export const systemRandom: Random = { bytes: (count) => randomBytes(count) };
