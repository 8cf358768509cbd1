import { createHash } from "node:crypto";
import { Packr } from "msgpackr/index-no-eval";
import { byThrees, joinPieces } from "../codec/pieces.ts";
import { TrainerError } from "../errors.ts";
import type { BodyType } from "./call-body.ts";
import { resultHeader } from "./octet-headers.ts";

/** The answer of an operation: plain fields, and parameters as bytes until their encoding is known. */
export interface OperationAnswer {
  /** The parameters in pieces, without copying. */
  readonly parameters?: readonly Uint8Array[];
  readonly state?: readonly Uint8Array[] | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The bytes of an answer and, if the body has no room for its fields, the X-Result header with them. */
export interface WrittenAnswer {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly head: string | undefined;
}

/**
 * A multiple of three, so that pieces of base64 join without padding. Small, because strings of a megabyte stay in memory long after their
 * use.
 */
const BASE64_PIECE_BYTES = 3 * 2 ** 14;

/** Encodes an answer. */
export function writeAnswer(answer: OperationAnswer, type: BodyType): WrittenAnswer {
  if (type === "json") return { body: writeJson(answer), head: undefined };
  const { parameters, state, fields } = answer;
  if (type === "msgpack") {
    const asBuffer = (pieces: readonly Uint8Array[]) => Buffer.from(joinPieces(pieces).buffer);
    const value = { ...(parameters && { parameters: asBuffer(parameters) }), ...fields, ...(state && { state: asBuffer(state) }) };
    return { body: Uint8Array.from(new Packr({ useRecords: false, variableMapSize: true }).pack(value)), head: undefined };
  }
  if (!parameters)
    throw new TrainerError("VALIDATION_ERROR", "The answer has no parameters, so it cannot be octets. Accept application/json.");
  if (state)
    throw new TrainerError(
      "VALIDATION_ERROR",
      "The answer has a state beside its parameters, so it cannot be octets. Accept JSON or MessagePack.",
    );
  return { body: joinPieces(parameters), head: resultHeader(fields) };
}

/** The SHA-256 of the concatenated pieces, in hex. */
export function sha256(pieces: readonly Uint8Array[]): string {
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
}

/** Fields and parameters as JSON, without building the base64 as one string, because it may be longer than the longest string. */
export function writeJson({ parameters, state, fields }: OperationAnswer): Uint8Array<ArrayBuffer> {
  const rest = Buffer.from(JSON.stringify(fields).slice(1));
  const parts = [
    ...Object.entries({ parameters, state }).filter((entry): entry is [string, readonly Uint8Array[]] => entry[1] !== undefined),
  ];
  const size = parts.reduce((sum, [name, pieces]) => sum + name.length + 6 + Math.ceil(bytesOf(pieces) / 3) * 4, 1 + rest.byteLength);
  const body = Buffer.alloc(size);
  let at = body.write("{", 0, "latin1");
  for (const [name, pieces] of parts) {
    at += body.write(`"${name}":"`, at, "latin1");
    for (const { buffer, byteOffset, byteLength } of byThrees(pieces, BASE64_PIECE_BYTES))
      at += body.write(Buffer.from(buffer, byteOffset, byteLength).toString("base64"), at, "latin1");
    at += body.write('",', at, "latin1");
  }
  // If no field follows, the comma after the last part is removed.
  if (rest.byteLength === 1 && parts.length > 0) at--;
  at += rest.copy(body, at);
  return new Uint8Array(body.buffer, body.byteOffset, at);
}

function bytesOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
}
