import type { Chance } from "../faults/chance.ts";

const EDITS_MAX = 5;
const SPAN_MAX = 16;
/** Bytes that end, begin or escape something in one of the formats. */
const TELLING = [0x00, 0x01, 0x09, 0x0a, 0x0d, 0x20, 0x22, 0x25, 0x2c, 0x2d, 0x30, 0x3a, 0x5b, 0x5c, 0x7b, 0x7f, 0x80, 0xc1, 0xdf, 0xff];

/** A copy with a few edits: bytes changed, inserted, removed, repeated, or the end cut off. */
export function mutated(random: Chance, bytes: Uint8Array): Buffer {
  let edited: Buffer = Buffer.from(bytes);
  for (let edits = random.between(1, EDITS_MAX); edits > 0; edits--) edited = edit(random, edited);
  return edited;
}

function edit(random: Chance, bytes: Buffer): Buffer {
  const at = random.below(bytes.length + 1);
  const end = Math.min(bytes.length, at + random.between(1, SPAN_MAX));
  const [before, span, after] = [bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(end)];
  switch (random.below(7)) {
    case 0:
      return Buffer.concat([before, after]);
    case 1:
      return Buffer.concat([before, span, span, after]);
    case 2:
      return Buffer.concat([before, randomBytes(random, random.between(1, SPAN_MAX)), bytes.subarray(at)]);
    case 3:
      return random.happens(0.3) ? Buffer.from(before) : Buffer.concat([before, Buffer.of(random.pick(TELLING)), bytes.subarray(at)]);
    case 4:
      return Buffer.concat([before, Buffer.from(span).fill(random.pick(TELLING)), after]);
    default:
      return withByte(random, bytes, at);
  }
}

function withByte(random: Chance, bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  if (copy.length > 0) copy[Math.min(at, copy.length - 1)] = random.happens(0.5) ? random.pick(TELLING) : random.below(256);
  return copy;
}

export function randomBytes(random: Chance, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.below(256)));
}

/** Some of the pieces, in any order and number, joined. */
export function joined(random: Chance, pieces: readonly string[], countMax: number): Buffer {
  const text = Array.from({ length: random.below(countMax) }, () => random.pick(pieces)).join("");
  return Buffer.from(text, "latin1");
}

/** The bytes in pieces of 1 to 9 bytes, the same for the same bytes. */
export function cut(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + ((bytes[at] ?? 0) % 9);
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}
