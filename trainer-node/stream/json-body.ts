import { TrainerError } from "../errors.ts";
import { createByteBuffer } from "./byte-buffer.ts";
import type { ByteSource } from "./byte-source.ts";
import { createJsonPlace, type JsonPlace } from "./json-place.ts";

/** Where a text with parameters can stand: one of these fields, or an entry of one of these lists. */
export interface RunPlace {
  readonly field: string;
  /** Undefined for a field of its own. */
  readonly index: number | undefined;
}

/** Takes one text as it arrives and gives what shall stand in its place. */
export interface Run {
  write(text: Uint8Array): void;
  end(): unknown;
}

export interface JsonBodyOptions {
  readonly runFields: ReadonlySet<string>;
  readonly runLists: ReadonlySet<string>;
  readonly openRun: (place: RunPlace) => Run;
  readonly depthMax: number;
  /** Most bytes of the body beside the runs: they become one JavaScript string. */
  readonly restBytesMax: number;
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const KEY_BYTES_MAX = 256;
const SIMPLE_ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f" };

/**
 * Reads a JSON object from a stream. Texts at the places of runs are handed on in pieces and never become strings; what is left of the
 * body, with a number in place of each run, is parsed as usual. So fields may come in any order and a body may be of any size.
 */
export function readJsonBody(source: ByteSource, options: JsonBodyOptions): Record<string, unknown> {
  const scanner = createScanner(options);
  for (let piece = source.next(); piece; piece = source.next()) scanner.push(piece);
  const { rest, results } = scanner.finish();
  const value = parseObject(rest);
  for (const field of options.runFields) if (typeof value[field] === "string") value[field] = results[Number(value[field])];
  for (const list of options.runLists) {
    const entries = value[list];
    if (Array.isArray(entries)) value[list] = entries.map((entry: unknown) => (typeof entry === "string" ? results[Number(entry)] : entry));
  }
  return value;
}

interface Scanner {
  push(piece: Uint8Array): void;
  finish(): { rest: Uint8Array; results: unknown[] };
}

/** Three states: between texts, in a text that is kept, in a run. Each step gives where in the piece to go on. */
function createScanner(options: JsonBodyOptions): Scanner {
  const rest = createByteBuffer(options.restBytesMax);
  const results: unknown[] = [];
  const place = createJsonPlace(options.depthMax);
  let mode: "between" | "text" | "run" = "between";
  let keyStart = -1;
  /** What has come of an escape after its backslash; undefined outside of one. */
  let escaped: string | undefined;
  let run: Run | undefined;

  const openText = (): void => {
    const found = runPlace(place, options);
    if (found) {
      mode = "run";
      run = options.openRun(found);
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
  const inRun = (piece: Buffer, start: number): number => {
    if (escaped !== undefined) {
      escaped += String.fromCharCode(piece[start] as number);
      const character = escapedCharacter(escaped);
      if (character !== undefined) {
        run?.write(Buffer.from(character));
        escaped = undefined;
      }
      return start + 1;
    }
    const end = nextOf(piece, start, QUOTE, BACKSLASH);
    if (end > start) run?.write(piece.subarray(start, end));
    if (piece[end] === BACKSLASH) escaped = "";
    if (piece[end] === QUOTE) {
      results.push(run?.end());
      mode = "between";
    }
    return end + 1;
  };
  const steps = { between, text, run: inRun };
  return {
    push: (bytes) => {
      const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      for (let at = 0; at < piece.byteLength; ) at = steps[mode](piece, at);
    },
    finish: () => {
      if (mode === "run") throw new TrainerError("MALFORMED_JSON", "The body is not JSON: it ends within a text.");
      return { rest: rest.bytes, results };
    },
  };
}

function runPlace(place: JsonPlace, { runFields, runLists }: JsonBodyOptions): RunPlace | undefined {
  const { field, index } = place;
  if (place.atFieldValue() && runFields.has(field)) return { field, index: undefined };
  return place.atListEntry() && runLists.has(field) ? { field, index } : undefined;
}

function nextOf(piece: Buffer, start: number, one: number, other: number): number {
  const first = piece.indexOf(one, start);
  const end = first < 0 ? piece.byteLength : first;
  // Within what the first search has passed only, so that neither byte is looked for twice.
  const second = piece.subarray(start, end).indexOf(other);
  return second < 0 ? end : start + second;
}

/** The character of an escape without its backslash, or undefined while it is not whole. Some writers send "\\/" for every slash. */
function escapedCharacter(sequence: string): string | undefined {
  if (!sequence.startsWith("u")) return SIMPLE_ESCAPES[sequence] ?? sequence;
  if (sequence.length < 5) return undefined;
  if (!/^u[0-9a-fA-F]{4}$/.test(sequence)) throw new TrainerError("MALFORMED_JSON", "The body is not JSON: a text has a broken escape.");
  return String.fromCharCode(Number.parseInt(sequence.slice(1), 16));
}

function keyText(quoted: Uint8Array): string {
  if (quoted.byteLength > KEY_BYTES_MAX) return "";
  try {
    return String(JSON.parse(Buffer.from(quoted).toString("utf8")));
  } catch {
    // Not JSON; the parse of the whole says so.
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
