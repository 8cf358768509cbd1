import { TrainerError } from "../errors.ts";
import type { ByteBuffer } from "../stream/byte-buffer.ts";
import type { ByteSource } from "../stream/byte-source.ts";
import type { ClientIntake } from "./client-intake.ts";

/**
 * The octet body of /aggregate: a sequence of frames, each with four bytes of header length (little-endian), a JSON header and the bytes
 * that the header announces. `{"bytes": n, "id"?, "weight"?}` is a client; `{"bytes": n, "field": "base" | "state"}` is the field of that
 * name.
 */
const HEADER_BYTES_MAX = 65_536;

interface FrameHeader {
  readonly bytes: number;
  readonly field?: unknown;
  readonly id?: unknown;
  readonly weight?: unknown;
}

/** Reads the frames of an octet body. */
export function readFrames(source: ByteSource, intake: ClientIntake<unknown>): Record<string, unknown> {
  const reader = createReader(source);
  const { buffer } = intake;
  const entries: unknown[] = [];
  const headers: FrameHeader[] = [];
  const fields: Record<string, unknown> = {};
  for (;;) {
    const length = reader.take(4, buffer, "optional");
    if (!length) break;
    const headerBytes = new DataView(length.buffer, length.byteOffset, 4).getUint32(0, true);
    if (headerBytes > HEADER_BYTES_MAX) broken(`a header of ${headerBytes} bytes; at most ${HEADER_BYTES_MAX}`);
    const header = parseHeader(reader.take(headerBytes, buffer));
    const content = reader.take(header.bytes, buffer);
    if (header.field === "base" || header.field === "state") fields[header.field] = content.slice();
    else {
      entries.push(intake.take(content, entries.length));
      headers.push(header);
    }
  }
  const given = (name: "id" | "weight"): boolean => headers.some((header) => header[name] !== undefined);
  return {
    ...fields,
    parameters_list: entries,
    ...(given("weight") && { weights: headers.map((header) => header.weight) }),
    ...(given("id") && { client_ids: headers.map((header) => header.id) }),
  };
}

function parseHeader(bytes: Uint8Array): FrameHeader {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    broken("a header that is not JSON");
  }
  const header = value as FrameHeader | null;
  if (typeof header !== "object" || header === null || !Number.isSafeInteger(header.bytes) || header.bytes < 0)
    broken("a header without its number of bytes");
  return header;
}

interface Reader {
  take(bytes: number, buffer: ByteBuffer): Uint8Array;
  take(bytes: number, buffer: ByteBuffer, end: "optional"): Uint8Array | undefined;
}

/** Reads an exact number of bytes at a time. They are valid until the next read. */
function createReader(source: ByteSource): Reader {
  let left: Uint8Array = new Uint8Array(0);
  const take = (bytes: number, buffer: ByteBuffer, end?: "optional"): Uint8Array | undefined => {
    buffer.clear();
    let missing = bytes;
    while (missing > 0) {
      if (left.byteLength === 0) {
        const piece = source.next();
        if (!piece) {
          if (end && missing === bytes) return undefined;
          return broken(`an end ${missing} bytes too soon`);
        }
        left = piece;
      }
      const part = left.subarray(0, missing);
      buffer.append(part);
      missing -= part.byteLength;
      left = left.subarray(part.byteLength);
    }
    return buffer.bytes;
  };
  return { take: take as Reader["take"] };
}

function broken(what: string): never {
  throw new TrainerError("VALIDATION_ERROR", `The frames of the body are invalid: there is ${what}.`);
}
