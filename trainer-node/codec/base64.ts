import { TrainerError } from "../errors.ts";

const OUTSIDE_ALPHABET = /[^A-Za-z0-9+/]/;

/**
 * Decodes standard base64 (RFC 4648 §4) with required padding. Node's decoder drops unknown characters; here the first one is an error with
 * its offset, because parameters that silently lose bytes are worse than an error.
 */
export function decodeBase64(text: string, field: string): Uint8Array<ArrayBuffer> {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const wrong = text.search(OUTSIDE_ALPHABET);
  if (wrong >= 0 && wrong < text.length - padding) refuse(field, wrong, `a character outside the standard alphabet at offset ${wrong}`);
  if (text.length % 4 !== 0) refuse(field, text.length, "a length that is not a multiple of four (padding is required)");
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  const written = Buffer.from(bytes.buffer).write(text, "base64");
  if (written !== bytes.byteLength) refuse(field, text.length, "an incomplete last group");
  return bytes;
}

function refuse(field: string, offset: number, what: string): never {
  throw new TrainerError("INVALID_BASE64", `${field} is not base64: it has ${what}`, { details: { field, offset } });
}
