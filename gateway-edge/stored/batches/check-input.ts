import { AppError } from "../../../common/errors.ts";
import type { BatchEndpoint, BatchError } from "../../schemas/stored/batches.ts";
import { checkLine, isProblem } from "./check-line.ts";
import type { InputLine } from "./input-lines.ts";

export const LINES_MAX = 50_000;
/** After this many errors the check stops. */
const ERRORS_MAX = 100;

/** Counts the requests of an input file and lists its errors. */
export async function checkInput(
  lines: AsyncIterable<InputLine>,
  endpoint: BatchEndpoint,
): Promise<{ total: number; errors: readonly BatchError[] }> {
  const errors: BatchError[] = [];
  const customIds = new Set<string>();
  let total = 0;
  try {
    for await (const { line, text } of lines) {
      if (text.trim() === "") continue;
      total++;
      const fault = faultOf(text, { endpoint, customIds, total });
      if (fault) errors.push({ line, ...fault });
      if (errors.length >= ERRORS_MAX || total > LINES_MAX) break;
    }
  } catch (thrown) {
    // These codes are errors of the file; all others are not.
    if (!(thrown instanceof AppError) || (thrown.code !== "NOT_FOUND" && thrown.code !== "PAYLOAD_TOO_LARGE")) throw thrown;
    errors.push({ line: null, code: "invalid_file", message: thrown.message, param: "input_file_id" });
  }
  if (total === 0 && errors.length === 0) {
    errors.push({ line: null, code: "empty_file", message: "The input file contains no requests.", param: "input_file_id" });
  }
  return { total, errors };
}

function faultOf(
  text: string,
  { endpoint, customIds, total }: { endpoint: BatchEndpoint; customIds: Set<string>; total: number },
): Omit<BatchError, "line"> | undefined {
  if (total > LINES_MAX) return { code: "too_many_requests", message: `A batch can have at most ${LINES_MAX} requests.`, param: null };
  const checked = checkLine(text, endpoint);
  if (isProblem(checked)) return checked;
  if (customIds.has(checked.customId)) {
    return { code: "duplicate_custom_id", message: `The custom_id ${checked.customId} is used more than once.`, param: "custom_id" };
  }
  customIds.add(checked.customId);
  return undefined;
}
