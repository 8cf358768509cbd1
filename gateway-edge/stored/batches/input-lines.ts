import { AppError } from "../../../common/errors.ts";
import type { RecordStore } from "../records/records.ts";

export interface InputLine {
  /** From 1 on; blank lines count. */
  readonly line: number;
  /** Where the line after it begins. */
  readonly next: number;
  readonly text: string;
}

export interface InputFile {
  readonly teamId: string;
  readonly fileId: string;
  /** Of one line. */
  readonly lineBytesMax: number;
}

const WINDOW_BYTES = 1024 * 1024;
const NEWLINE = 10;

/**
 * The lines of a file from a place on, blank ones too. Read in windows, each asked for by itself: whoever takes hours for the lines
 * keeps no connection open, and never has more than a window of them in memory.
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
    // The last line needs no newline.
    const rest = window.bytes.toString("utf8", start);
    if (rest !== "") yield { line, next: offset + window.bytes.length - start, text: cleaned(rest) };
    return;
  }
}

/** At least one whole line, or all that is left. */
async function readWindow(
  records: Pick<RecordStore, "getContent">,
  { teamId, fileId, lineBytesMax }: InputFile,
  offset: number,
): Promise<{ bytes: Buffer; isLast: boolean }> {
  const content = await records.getContent(teamId, fileId, offset);
  if (!content) throw new AppError("NOT_FOUND", `The input file ${fileId} is gone.`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  let hasLine = false;
  for await (const chunk of content) {
    chunks.push(chunk);
    size += chunk.length;
    hasLine ||= chunk.includes(NEWLINE);
    if (hasLine && size >= WINDOW_BYTES) return { bytes: Buffer.concat(chunks), isLast: false };
    if (!hasLine && size > lineBytesMax) throw new AppError("PAYLOAD_TOO_LARGE", `A line is longer than ${lineBytesMax} bytes.`);
  }
  return { bytes: Buffer.concat(chunks), isLast: true };
}

/** Without the mark that some editors put at the beginning of a file, and the return of others at the end of a line. */
function cleaned(text: string): string {
  return text.replace(/^\uFEFF/, "").replace(/\r$/, "");
}
