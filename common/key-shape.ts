import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Random } from "./random.ts";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX = "sk-";
/** 32 digits of base 62 are 190 random bits. */
const RANDOM_DIGITS = 32;
/** 62^6 is more than 2^32, so every checksum has distinct six digits. */
const CHECK_DIGITS = 6;
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_DIGITS + CHECK_DIGITS}}$`);
const IMPORTED_LENGTH = PREFIX.length + 22;
/** The largest multiple of 62 in a byte; bytes at or above it would bias the first digits. */
const UNBIASED_BELOW = 248;

/** Creates an API key: `sk-`, 32 random digits of base 62, 6 digits of checksum. It is shown once and never stored. */
export function mintSecret(random: Random): string {
  let body = PREFIX;
  while (body.length < PREFIX.length + RANDOM_DIGITS) {
    for (const byte of random.bytes(RANDOM_DIGITS)) {
      if (byte < UNBIASED_BELOW && body.length < PREFIX.length + RANDOM_DIGITS) body += BASE62.charAt(byte % 62);
    }
  }
  return body + checksum(body);
}

/** Keys that LiteLLM mints: 16 random bytes in base64url. They can be imported by their hash, and have no checksum. */
const IMPORTED_SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z_-]{22}$`);

/**
 * Whether a text has the format and checksum of a key, or the format of an imported one, so that mistyped and invented keys are rejected
 * without a lookup.
 */
export function hasKeyShape(text: string): boolean {
  if (text.length === IMPORTED_LENGTH) return IMPORTED_SHAPE.test(text);
  return SHAPE.test(text) && checksum(text.slice(0, -CHECK_DIGITS)) === text.slice(-CHECK_DIGITS);
}

/** The masked form of a key: "sk-...a1b2". */
export function maskKey(secret: string): string {
  return `${PREFIX}...${secret.slice(-4)}`;
}

/** The hash that leaves the edge instead of the secret. */
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
