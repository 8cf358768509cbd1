import { createCipheriv } from "node:crypto";

const WORDS_AT_A_TIME = 16_384;

/** target += or -= the words that a 32-byte seed expands to (AES-256 in counter mode, little-endian), modulo 2^32. */
export function applyMask(target: Uint32Array, seed: Uint8Array, sign: 1 | -1): void {
  const cipher = createCipheriv("aes-256-ctr", seed, new Uint8Array(16));
  const zeros = new Uint8Array(WORDS_AT_A_TIME * 4);
  const words = new Uint32Array(WORDS_AT_A_TIME);
  for (let start = 0; start < target.length; start += WORDS_AT_A_TIME) {
    const count = Math.min(WORDS_AT_A_TIME, target.length - start);
    new Uint8Array(words.buffer).set(cipher.update(zeros.subarray(0, count * 4)));
    for (let index = 0; index < count; index++) target[start + index] = (target[start + index] as number) + sign * (words[index] as number);
  }
}
