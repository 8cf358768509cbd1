import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Random } from "./random.ts";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX = "sk-";
/** 32 digits of base 62 are 190 random bits. */
const RANDOM_DIGITS = 32;
/** 62^6 is more than 2^32: every checksum has its own six digits. */
const CHECK_DIGITS = 6;
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_DIGITS + CHECK_DIGITS}}$`);
/** The largest multiple of 62 that fits a byte: a byte at or above it would favour the first digits. */
const UNBIASED_BELOW = 248;

/** A new API key: `sk-`, 32 random digits of base 62, 6 digits of checksum. Shown once, kept nowhere. */
export function mintSecret(random: Random): string {
  let body = PREFIX;
  while (body.length < PREFIX.length + RANDOM_DIGITS) {
    for (const byte of random.bytes(RANDOM_DIGITS)) {
      if (byte < UNBIASED_BELOW && body.length < PREFIX.length + RANDOM_DIGITS) body += BASE62.charAt(byte % 62);
    }
  }
  return body + checksum(body);
}

/** Whether a text can be a key at all. A mistyped or invented one is refused by this, without asking anybody. */
export function hasKeyShape(text: string): boolean {
  return SHAPE.test(text) && checksum(text.slice(0, -CHECK_DIGITS)) === text.slice(-CHECK_DIGITS);
}

/** What people may see of a key: "sk-...a1b2". */
export function maskKey(secret: string): string {
  return `${PREFIX}...${secret.slice(-4)}`;
}

/** What leaves the edge in place of a secret. */
export function secretSha256(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}

function checksum(body: string): string {
  let rest = crc32(body);
  let digits = "";
  for (let digit = 0; digit < CHECK_DIGITS; digit++) {
    digits = BASE62.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
