import { RECORD_TYPE } from "../../../gateway-edge/credit/journal/records.ts";

/** Names of the records of a journal by their type. */
const NAMES = new Map<number, string>(Object.entries(RECORD_TYPE).map(([name, type]) => [type, name]));
/** What a batch is named by when it holds several. */
const ORDER = ["final", "acknowledged", "intent", "progress", "served"];
const MAGIC = 0x54524a4c;

/** What is being written, read from the bytes alone: the beginning of a file, or records by the most important of them. */
export function writePoint(bytes: Uint8Array = new Uint8Array()): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (buffer.length >= 4 && buffer.readUInt32BE(0) === MAGIC) return "write of a header";
  const found = new Set<string>();
  for (let at = 0; at + 17 <= buffer.length; at += 8 + buffer.readUInt32BE(at)) found.add(NAMES.get(buffer[at + 16] ?? 0) ?? "something");
  return `write of ${ORDER.find((name) => found.has(name)) ?? "nothing"}`;
}
