import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

const CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz";
const TIME_DIGITS = 9;
const RANDOM_BYTES = 15;

/** `prefix_` + 9 digits of time (so that ids sort by age) + 120 random bits. */
export function newId(prefix: string, source: { clock: Clock; random: Random }): string {
  let time = source.clock.now();
  let head = "";
  for (let digit = 0; digit < TIME_DIGITS; digit++) {
    head = CROCKFORD.charAt(time % 32) + head;
    time = Math.floor(time / 32);
  }
  return `${prefix}_${head}${base32(source.random.bytes(RANDOM_BYTES))}`;
}

function base32(bytes: Uint8Array): string {
  let text = "";
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += CROCKFORD.charAt((buffer >>> bits) & 31);
    }
    buffer &= (1 << bits) - 1;
  }
  return text;
}
