import type { Random } from "../../../common/random.ts";

const BYTES = 6;
const SPAN = 2 ** (8 * BYTES);

/** A number from 0 up to, not including, 1. */
export function chance(random: Random): number {
  return random.bytes(BYTES).readUIntBE(0, BYTES) / SPAN;
}
