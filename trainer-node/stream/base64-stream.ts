import { TrainerError } from "../errors.ts";
import type { ByteBuffer } from "./byte-buffer.ts";

/** Decodes standard base64 (RFC 4648 §4, padding required) as it arrives. The first invalid character is an error with its offset. */
export interface Base64Stream {
  /** A part of the text, as ASCII bytes. */
  write(text: Uint8Array): void;
  end(): void;
}

const [PADDING, MINUS, UNDERSCORE] = [0x3d, 0x2d, 0x5f];
/** Characters decoded at a time: each piece becomes a string, whose length is limited. */
const PIECE_CHARACTERS = 2 ** 20;

/** Creates a decoder that writes to `target`. Errors name `field`. */
export function createBase64Stream(target: ByteBuffer, field: string): Base64Stream {
  /** Up to four pending characters: an incomplete group, or one with padding that must be the last. */
  let held = Buffer.alloc(0);
  let offset = 0;

  const decode = (group: Uint8Array): void => {
    if (!target.appendBase64(group)) refuse(field, offset, Buffer.from(group.buffer, group.byteOffset, group.byteLength), 0);
    offset += group.byteLength;
  };
  const decodeLast = (group: Buffer): void => {
    const padding = paddingOf(group);
    if (padding === 0) {
      decode(group);
      return;
    }
    const bytes = Buffer.from(group.toString("latin1"), "base64");
    if (bytes.byteLength !== 3 - padding || group.includes(MINUS) || group.includes(UNDERSCORE)) refuse(field, offset, group, padding);
    target.append(bytes);
  };
  const writePiece = (text: Buffer): void => {
    // The pending group is completed first, so that the rest is decoded in place.
    const missing = held.byteLength === 0 ? 0 : Math.min(4 - held.byteLength, text.byteLength);
    if (missing > 0) held = Buffer.concat([held, text.subarray(0, missing)]);
    if (missing === text.byteLength) return;
    if (held.byteLength > 0) decode(held);
    // All complete groups except the last, which may be the end of the text.
    const whole = missing + Math.floor((text.byteLength - missing - 1) / 4) * 4;
    if (whole > missing) decode(text.subarray(missing, whole));
    held = Buffer.from(text.subarray(whole));
  };
  return {
    write: (text) => {
      for (let at = 0; at < text.byteLength; at += PIECE_CHARACTERS) {
        const size = Math.min(PIECE_CHARACTERS, text.byteLength - at);
        writePiece(Buffer.from(text.buffer, text.byteOffset + at, size));
      }
    },
    end: () => {
      if (held.byteLength === 0) return;
      if (held.byteLength % 4 !== 0) refuse(field, offset, held, 0);
      decodeLast(held);
      held = Buffer.alloc(0);
    },
  };
}

function paddingOf(text: Buffer): number {
  if (text.at(-1) !== PADDING) return 0;
  return text.at(-2) === PADDING ? 2 : 1;
}

function refuse(field: string, offset: number, text: Buffer, padding: number): never {
  const characters = text.toString("latin1");
  const wrong = characters.search(/[^A-Za-z0-9+/]/);
  const place = wrong >= 0 && wrong < characters.length - padding ? offset + wrong : offset + characters.length;
  const what =
    wrong >= 0 && wrong < characters.length - padding
      ? `a character outside the standard alphabet at offset ${place}`
      : text.byteLength % 4 === 0
        ? "an incomplete last group"
        : "a length that is not a multiple of four (padding is required)";
  throw new TrainerError("INVALID_BASE64", `${field} is not base64: it has ${what}`, { details: { field, offset: place } });
}
