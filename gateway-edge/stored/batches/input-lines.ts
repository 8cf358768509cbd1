import { AppError } from "../../../common/errors.ts";
import type { RecordStore } from "../records/records.ts";

/** One line of an input file. */
export interface InputLine {
  /** Starts at 1; blank lines count. */
  readonly line: number;
  /** The offset of the next line. */
  readonly next: number;
  readonly text: string;
}

/** An input file and its limits. */
export interface InputFile {
  readonly teamId: string;
  readonly fileId: string;
  /** The limit of one line. */
  readonly lineBytesMax: number;
}

const WINDOW_BYTES = 1024 * 1024;
const NEWLINE = 10;

/**
 * The lines of a file from an offset on, blank lines included. The file is read in windows, each with its own request, so that a batch of
 * several hours keeps no connection open and has only one window in memory.
 */
export async function* inputLines(
  records: Pick<RecordStore, "getContent">,
  file: InputFile,
  from: { line: number; offset: number },
): AsyncGenerator<InputLine> {
  let { line, offset } = from;
  for (;;) {
    const window = await readWindow(records, file, offset);
    let start = 0;
    for (let end = window.bytes.indexOf(NEWLINE); end >= 0; end = window.bytes.indexOf(NEWLINE, start)) {
      const text = window.bytes.toString("utf8", start, end);
      start = end + 1;
      yield { line: line++, next: offset + start, text: cleaned(text) };
    }
    offset += start;
    if (!window.isLast) continue;
    // The last line may have no newline.
    const rest = window.bytes.toString("utf8", start);
    if (rest !== "") yield { line, next: offset + window.bytes.length - start, text: cleaned(rest) };
    return;
  }
}

/** Reads at least one complete line, or the rest of the file. */
async function readWindow(
  records: Pick<RecordStore, "getContent">,
  { teamId, fileId, lineBytesMax }: InputFile,
  offset: number,
): Promise<{ bytes: Buffer; isLast: boolean }> {
  const content = await records.getContent(teamId, fileId, offset);
  if (!content) throw new AppError("NOT_FOUND", `The input file ${fileId} no longer exists.`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  let hasLine = false;
  for await (const chunk of content) {
    chunks.push(chunk);
    size += chunk.length;
    hasLine ||= chunk.includes(NEWLINE);
    if (hasLine && size >= WINDOW_BYTES) return { bytes: Buffer.concat(chunks), isLast: false };
    if (!hasLine && size > lineBytesMax)
      throw new AppError("PAYLOAD_TOO_LARGE", `A line of the input file is longer than ${lineBytesMax} bytes.`);
  }
  return { bytes: Buffer.concat(chunks), isLast: true };
}

/** Removes a byte order mark and a trailing carriage return. */
function cleaned(text: string): string {
  return text.replace(/^\uFEFF/, "").replace(/\r$/, "");
}
