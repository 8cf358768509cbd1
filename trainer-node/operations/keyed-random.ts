import { createCipheriv } from "node:crypto";

const BLOCK_BYTES = 65_536;
const KEY_BYTES = 32;

/**
 * Numbers that cannot be predicted without the key (AES-256 in counter mode) and are the same for the same key. The noise of private
 * updates needs them: the seed of `compute/random.ts` is in the answer, and could be searched for.
 */
export function keyedRandom(key: Uint8Array): { uniform(): number; normal(): number } {
  if (key.byteLength !== KEY_BYTES) throw new RangeError(`a key has ${KEY_BYTES} bytes, not ${key.byteLength}`);
  const cipher = createCipheriv("aes-256-ctr", key, new Uint8Array(16));
  const zeros = new Uint8Array(BLOCK_BYTES);
  let block = Buffer.alloc(0);
  let at = 0;
  const word = (): number => {
    if (at >= block.byteLength) {
      block = cipher.update(zeros);
      at = 0;
    }
    at += 4;
    return block.readUInt32LE(at - 4);
  };
  const uniform = () => ((word() >>> 5) * 2 ** 26 + (word() >>> 6)) / 2 ** 53;
  return {
    uniform,
    // Box-Muller; 1 - u keeps the logarithm away from zero.
    normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
  };
}
