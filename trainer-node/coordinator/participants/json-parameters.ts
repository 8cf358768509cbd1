import { createHash } from "node:crypto";
import { TrainerError } from "../../errors.ts";
import { JSON_DEPTH_MAX } from "../../operations/call-limits.ts";
import { createBase64Stream } from "../../stream/base64-stream.ts";
import { createByteBuffer } from "../../stream/byte-buffer.ts";
import { giveBack } from "../../stream/give-back.ts";
import { createJsonReader, type TextSink } from "../../stream/json-body.ts";
import type { FoundBlob } from "../blobs/blob-folder.ts";
import { createSharedFiles } from "../blobs/shared-files.ts";
import { ParticipantProblem } from "./participant-problem.ts";

/** A part of a JSON text: the text itself, or a file whose bytes stand there in base64. */
export type JsonPart = string | FoundBlob;

/** A JSON body with files in it, which are read while it is sent. */
export interface JsonBody {
  readonly type: string;
  readonly bytes: number;
  readonly json: readonly JsonPart[];
}

/** Fields of a JSON object, and more fields whose values are files, or lists of files, in base64. */
export function jsonWithFiles(fields: object, named: Readonly<Record<string, FoundBlob | readonly FoundBlob[]>>): JsonBody {
  const start = JSON.stringify(fields).slice(0, -1);
  const json: JsonPart[] = [start];
  let separator = start === "{" ? "" : ",";
  for (const [name, value] of Object.entries(named)) {
    json.push(`${separator}${JSON.stringify(name)}:`, ...("path" in value ? quoted(value) : listOf(value)));
    separator = ",";
  }
  json.push("}");
  return { type: "application/json", bytes: json.reduce((sum, part) => sum + bytesOf(part), 0), json };
}

const quoted = (file: FoundBlob): JsonPart[] => ['"', file, '"'];
const listOf = (files: readonly FoundBlob[]): JsonPart[] => [
  "[",
  ...files.flatMap((file, index) => [index === 0 ? "" : ",", ...quoted(file)]),
  "]",
];
const bytesOf = (part: JsonPart): number => (typeof part === "string" ? Buffer.byteLength(part) : Math.ceil(part.bytes / 3) * 4);

/** Sends JSON with files in it. */
export interface JsonFiles {
  /** A piece is valid until the reader asks for the second piece after it. */
  pieces(parts: readonly JsonPart[]): AsyncGenerator<Uint8Array>;
  /** The SHA-256 of the whole text, in hex. */
  sha256(parts: readonly JsonPart[]): Promise<string>;
}

/** A multiple of three, so that each piece has its own base64, which is larger than a socket's buffer. */
const FILE_PIECE_BYTES = 3 * 2 ** 15;
/** Bytes whose base64 is made at a time. Larger strings stay in memory long after their use. */
const TEXT_BYTES = 3 * 2 ** 14;
/** Two pieces are in use at a time, while the next one is made. */
const PIECES_IN_USE = 3;

/** Creates a reader of files for JSON bodies. Concurrent bodies share the reads of a file. */
export function createJsonFiles({ pieceBytes = FILE_PIECE_BYTES } = {}): JsonFiles {
  if (pieceBytes % 3 !== 0) throw new Error("pieces of base64 need a multiple of three bytes");
  const files = createSharedFiles({ pieceBytes });
  const pieces: JsonFiles["pieces"] = async function* (parts) {
    const memory = Array.from({ length: PIECES_IN_USE }, () => Buffer.alloc((pieceBytes / 3) * 4));
    let turn = 0;
    for (const part of parts) {
      if (typeof part === "string") yield Buffer.from(part);
      else for await (const piece of files.read(part.path)) yield base64Into(memory[turn++ % PIECES_IN_USE] as Buffer, piece);
    }
  };
  return {
    pieces,
    sha256: async (parts) => {
      const hash = createHash("sha256");
      for await (const piece of pieces(parts)) hash.update(piece);
      return hash.digest("hex");
    },
  };
}

function base64Into(target: Buffer, { buffer, byteOffset, byteLength }: Uint8Array): Uint8Array {
  let used = 0;
  for (let at = 0; at < byteLength; at += TEXT_BYTES) {
    const text = Buffer.from(buffer, byteOffset + at, Math.min(TEXT_BYTES, byteLength - at)).toString("base64");
    used += target.write(text, used, "latin1");
  }
  return target.subarray(0, used);
}

/** Reads a JSON answer whose field `parameters` is base64. */
export interface ParametersReader {
  /** The decoded parameters as they arrive. Each piece is valid until the next one. Throws ParticipantProblem if there are none. */
  bytes(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** The other fields, once all bytes were read. */
  fields(): Readonly<Record<string, unknown>>;
}

const FIELD = "parameters";
/** Most bytes of an answer beside its parameters. */
const REST_BYTES_MAX = 16 * 1024 * 1024;
/** Bytes of the answer that are read at a time, and of the parameters that are passed on at a time. */
const STEP_BYTES = 64 * 1024;
const PIECE_BYTES = 256 * 1024;

/** Creates a reader of one answer. What it holds does not grow with the parameters. */
export function createParametersReader(): ParametersReader {
  const decoded = createByteBuffer(PIECE_BYTES + STEP_BYTES);
  let fields: Record<string, unknown> = {};
  let sinks = 0;
  const openSink = (): TextSink => {
    // A repeated field would join two models to one.
    if (sinks++ > 0) throw new ParticipantProblem(`its answer has the field ${FIELD} twice`, { again: false });
    const { write, end } = createBase64Stream(decoded, FIELD);
    return { write, end };
  };
  const reader = createJsonReader({
    streamedFields: new Set([FIELD]),
    streamedLists: new Set(),
    depthMax: JSON_DEPTH_MAX,
    restBytesMax: REST_BYTES_MAX,
    openSink,
  });
  return {
    bytes: async function* (chunks) {
      let passed = 0;
      for await (const chunk of chunks) {
        for (let at = 0; at < chunk.byteLength; at += STEP_BYTES) {
          asParticipant(() => reader.push(chunk.subarray(at, at + STEP_BYTES)));
          if (decoded.bytes.byteLength < PIECE_BYTES) continue;
          passed += decoded.bytes.byteLength;
          yield decoded.bytes;
          decoded.clear();
        }
        giveBack(chunk);
      }
      fields = asParticipant(reader.finish);
      if (passed + decoded.bytes.byteLength === 0) throw new ParticipantProblem("its answer has no parameters", { again: false });
      if (decoded.bytes.byteLength > 0) yield decoded.bytes;
    },
    fields: () => fields,
  };
}

/** What is wrong with the answer is its participant's problem. */
function asParticipant<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof TrainerError)) throw cause;
    const what = cause.kind === "MALFORMED_JSON" ? "is not JSON" : `is invalid: ${cause.message}`;
    throw new ParticipantProblem(`its answer ${what}`, { again: false, cause });
  }
}
