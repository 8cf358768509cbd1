import { TrainerError } from "../errors.ts";
import { createByteBuffer } from "./byte-buffer.ts";
import type { ByteSource } from "./byte-source.ts";
import { createJsonPlace, type JsonPlace } from "./json-place.ts";

/** The place of a string with parameters: a field, or an entry of a list. */
export interface TextPlace {
  readonly field: string;
  /** The index in the list; undefined for a field. */
  readonly index: number | undefined;
}

/** Receives one string as it arrives and returns the value that replaces it. */
export interface TextSink {
  write(text: Uint8Array): void;
  end(): unknown;
}

/** Options of a streamed JSON body. */
export interface JsonBodyOptions {
  readonly streamedFields: ReadonlySet<string>;
  readonly streamedLists: ReadonlySet<string>;
  readonly openSink: (place: TextPlace) => TextSink;
  readonly depthMax: number;
  /** Most bytes of the body beside the streamed strings: they become one JavaScript string. */
  readonly restBytesMax: number;
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const KEY_BYTES_MAX = 256;
const SIMPLE_ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f" };

/** Reads a JSON object whose bytes are pushed as they arrive. */
export interface JsonReader {
  /** Takes the next bytes, which are not needed afterwards. */
  push(piece: Uint8Array): void;
  /** The object after its last byte, with what the sinks returned in place of the streamed strings. */
  finish(): Record<string, unknown>;
}

/**
 * Creates a reader of one JSON object. Strings in streamed fields and lists are passed on in pieces and never become JavaScript strings. The
 * rest of the body, with a number in place of each streamed string, is parsed as usual. So fields may come in any order and a body may have
 * any size.
 */
export function createJsonReader(options: JsonBodyOptions): JsonReader {
  const scanner = createScanner(options);
  return {
    push: scanner.push,
    finish: () => {
      const { rest, results } = scanner.finish();
      const value = parseObject(rest);
      for (const field of options.streamedFields) if (typeof value[field] === "string") value[field] = results[Number(value[field])];
      for (const list of options.streamedLists) {
        const entries = value[list];
        if (Array.isArray(entries))
          value[list] = entries.map((entry: unknown) => (typeof entry === "string" ? results[Number(entry)] : entry));
      }
      return value;
    },
  };
}

/** Reads a JSON object from a source. */
export function readJsonBody(source: ByteSource, options: JsonBodyOptions): Record<string, unknown> {
  const reader = createJsonReader(options);
  for (let piece = source.next(); piece; piece = source.next()) reader.push(piece);
  return reader.finish();
}

interface Scanner {
  push(piece: Uint8Array): void;
  finish(): { rest: Uint8Array; results: unknown[] };
}

/**
 * Three states: between strings, in a string that stays in the body, in a streamed string. Each step returns the position to continue at.
 */
function createScanner(options: JsonBodyOptions): Scanner {
  const rest = createByteBuffer(options.restBytesMax);
  const results: unknown[] = [];
  const place = createJsonPlace(options.depthMax);
  let mode: "between" | "text" | "streamed" = "between";
  let keyStart = -1;
  /** The characters of an escape after its backslash; undefined outside of an escape. */
  let escaped: string | undefined;
  let sink: TextSink | undefined;

  const openText = (): void => {
    const found = streamedPlace(place, options);
    if (found) {
      mode = "streamed";
      sink = options.openSink(found);
      rest.append(Buffer.from(`"${results.length}"`));
      return;
    }
    mode = "text";
    if (place.atFieldName()) keyStart = rest.bytes.byteLength;
    rest.append(Uint8Array.of(QUOTE));
  };
  const between = (piece: Buffer, start: number): number => {
    const quote = piece.indexOf(QUOTE, start);
    const end = quote < 0 ? piece.byteLength : quote;
    for (let at = start; at < end; at++) place.pass(piece[at] as number);
    rest.append(piece.subarray(start, end));
    if (quote < 0) return end;
    openText();
    return quote + 1;
  };
  const text = (piece: Buffer, start: number): number => {
    if (escaped !== undefined) {
      rest.append(piece.subarray(start, start + 1));
      escaped = undefined;
      return start + 1;
    }
    const end = nextOf(piece, start, QUOTE, BACKSLASH);
    rest.append(piece.subarray(start, Math.min(end + 1, piece.byteLength)));
    if (piece[end] === BACKSLASH) escaped = "";
    if (piece[end] === QUOTE) {
      mode = "between";
      if (keyStart >= 0) place.enterField(keyText(rest.bytes.subarray(keyStart)));
      keyStart = -1;
    }
    return end + 1;
  };
  const inStreamed = (piece: Buffer, start: number): number => {
    if (escaped !== undefined) {
      escaped += String.fromCharCode(piece[start] as number);
      const character = escapedCharacter(escaped);
      if (character !== undefined) {
        sink?.write(Buffer.from(character));
        escaped = undefined;
      }
      return start + 1;
    }
    const end = nextOf(piece, start, QUOTE, BACKSLASH);
    if (end > start) sink?.write(piece.subarray(start, end));
    if (piece[end] === BACKSLASH) escaped = "";
    if (piece[end] === QUOTE) {
      results.push(sink?.end());
      mode = "between";
    }
    return end + 1;
  };
  const steps = { between, text, streamed: inStreamed };
  return {
    push: (bytes) => {
      const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      for (let at = 0; at < piece.byteLength; ) at = steps[mode](piece, at);
    },
    finish: () => {
      if (mode === "streamed") throw new TrainerError("MALFORMED_JSON", "The body is not JSON: it ends within a string.");
      return { rest: rest.bytes, results };
    },
  };
}

function streamedPlace(place: JsonPlace, { streamedFields, streamedLists }: JsonBodyOptions): TextPlace | undefined {
  const { field, index } = place;
  if (place.atFieldValue() && streamedFields.has(field)) return { field, index: undefined };
  return place.atListEntry() && streamedLists.has(field) ? { field, index } : undefined;
}

function nextOf(piece: Buffer, start: number, one: number, other: number): number {
  const first = piece.indexOf(one, start);
  const end = first < 0 ? piece.byteLength : first;
  // The second search covers only what the first one passed, so that neither byte is searched for twice.
  const second = piece.subarray(start, end).indexOf(other);
  return second < 0 ? end : start + second;
}

/** The character of an escape without its backslash; undefined while the escape is incomplete. Some writers send "\\/" for every slash. */
function escapedCharacter(sequence: string): string | undefined {
  if (!sequence.startsWith("u")) return SIMPLE_ESCAPES[sequence] ?? sequence;
  if (sequence.length < 5) return undefined;
  if (!/^u[0-9a-fA-F]{4}$/.test(sequence))
    throw new TrainerError("MALFORMED_JSON", "The body is not JSON: a string has an invalid escape.");
  return String.fromCharCode(Number.parseInt(sequence.slice(1), 16));
}

function keyText(quoted: Uint8Array): string {
  if (quoted.byteLength > KEY_BYTES_MAX) return "";
  try {
    return String(JSON.parse(Buffer.from(quoted).toString("utf8")));
  } catch {
    // The key is not JSON; parsing the whole body reports it.
    return "";
  }
}

function parseObject(bytes: Uint8Array): Record<string, unknown> {
  if (bytes.byteLength === 0) throw new TrainerError("MALFORMED_JSON", "The body is empty; send a JSON object.");
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new TrainerError("MALFORMED_JSON", "The body is not JSON.", { cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TrainerError("VALIDATION_ERROR", "The body must be a JSON object.");
  }
  return value as Record<string, unknown>;
}
