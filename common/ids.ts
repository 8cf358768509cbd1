import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

const CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz";
/** Pairs of digits, because IDs are created for every call and this is faster. */
const PAIRS = Array.from({ length: 1024 }, (_, value) => CROCKFORD.charAt(value >>> 5) + CROCKFORD.charAt(value & 31));
const TIME_DIGITS = 9;
/** A multiple of five, because five bytes encode to eight digits. */
const RANDOM_BYTES = 15;

/** `prefix_` + 9 digits of time, so that IDs sort by age, + 120 random bits. */
export function newId(prefix: string, source: { clock: Clock; random: Random }): string {
  return `${prefix}_${timeDigits(source.clock.now())}${base32(source.random.bytes(RANDOM_BYTES))}`;
}

const CALL = "call_";

/** A call's id without its prefix, for ids that are made of it. */
export function digitsOfCall(callId: string): string {
  return callId.startsWith(CALL) ? callId.slice(CALL.length) : callId;
}

let lastTime = { ms: Number.NaN, digits: "" };

function timeDigits(ms: number): string {
  // IDs of the same millisecond share the encoded time.
  if (lastTime.ms === ms) return lastTime.digits;
  let digits = "";
  for (let rest = ms; digits.length < TIME_DIGITS; rest = Math.floor(rest / 32)) digits = CROCKFORD.charAt(rest % 32) + digits;
  lastTime = { ms, digits };
  return digits;
}

function base32(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 5) {
    const third = bytes[at + 2] as number;
    const high = ((bytes[at] as number) << 12) | ((bytes[at + 1] as number) << 4) | (third >>> 4);
    const low = ((third & 15) << 16) | ((bytes[at + 3] as number) << 8) | (bytes[at + 4] as number);
    text += PAIRS[high >>> 10];
    text += PAIRS[high & 1023];
    text += PAIRS[low >>> 10];
    text += PAIRS[low & 1023];
  }
  return text;
}
