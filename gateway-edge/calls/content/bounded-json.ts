import { cutBefore } from "./redaction.ts";

/** A value as JSON, without what had no room. */
export interface BoundedJson {
  readonly json: string;
  readonly isCut: boolean;
}

interface Room {
  bytes: number;
  isCut: boolean;
}

const DEPTH_MAX = 32;
/** What JSON adds to a value: quotes, a comma, a colon. */
const VALUE_BYTES = 4;

/**
 * JSON of a value, with texts of at most `bytesMax` bytes together. What follows is left out. The cost depends on the limit, not on the value.
 * Images and files are replaced by their size.
 */
export function boundedJson(value: unknown, bytesMax: number): BoundedJson {
  const room: Room = { bytes: bytesMax, isCut: false };
  const json = JSON.stringify(copyOf(value, room, 0) ?? null);
  return { json, isCut: room.isCut };
}

function copyOf(value: unknown, room: Room, depth: number): unknown {
  if (typeof value === "string") return textWithin(withoutData(value), room);
  room.bytes -= VALUE_BYTES;
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return typeof value === "function" ? undefined : value;
  if (depth >= DEPTH_MAX) {
    room.isCut = true;
    return null;
  }
  return Array.isArray(value) ? listOf(value, room, depth + 1) : fieldsOf(value, room, depth + 1);
}

function listOf(values: readonly unknown[], room: Room, depth: number): unknown[] {
  const list: unknown[] = [];
  for (const value of values) {
    if (isFull(room)) break;
    list.push(copyOf(value, room, depth));
  }
  return list;
}

function fieldsOf(fields: object, room: Room, depth: number): Record<string, unknown> {
  const copy: [string, unknown][] = [];
  const isBase64 = (fields as { type?: unknown }).type === "base64";
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (isFull(room)) break;
    const given: unknown = isBase64 && name === "data" && typeof value === "string" ? leftOut("base64", value) : value;
    copy.push([textWithin(name, room), copyOf(given, room, depth)]);
  }
  return Object.fromEntries(copy);
}

function isFull(room: Room): boolean {
  if (room.bytes > 0) return false;
  room.isCut = true;
  return true;
}

function textWithin(text: string, room: Room): string {
  const end = charactersWithin(text, room.bytes);
  const within = end === text.length ? text : text.slice(0, cutBefore(text, end));
  if (end < text.length) room.isCut = true;
  room.bytes -= end < text.length ? room.bytes : Buffer.byteLength(text) + VALUE_BYTES;
  return within;
}

/** How many characters of a text fit into as many bytes of UTF-8. */
function charactersWithin(text: string, bytes: number): number {
  let end = Math.min(text.length, Math.max(0, bytes));
  for (;;) {
    const size = Buffer.byteLength(end === text.length ? text : text.slice(0, end));
    if (size <= bytes || end === 0) return end;
    end = Math.min(end - 1, Math.floor((end * bytes) / size));
  }
}

const DATA_URL = /^data:([\w.+/-]{0,100})[;,]/;

function withoutData(text: string): string {
  const type = text.startsWith("data:") ? DATA_URL.exec(text.slice(0, 128))?.[1] : undefined;
  return type === undefined ? text : leftOut(type, text);
}

const leftOut = (type: string, { length }: string): string => `[${type}, ${length} characters left out]`;
