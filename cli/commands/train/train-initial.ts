import { usageError } from "../../cli-error.ts";

const FORMS = "blob:SHA256, model:NAME[@VERSION], federation:ID[@ROUND] or participant:INDEX";
const NUMBERS: Readonly<Record<string, string>> = { model: "version", federation: "round" };

export const INITIAL_HELP = `parameters that round 1 starts from: ${FORMS}`;

/** The `initial` of a federation from the text of `--initial`. */
export function initialOf(text: string): Record<string, unknown> {
  const [, kind = "", value = ""] = /^(blob|model|federation|participant):(.+)$/.exec(text) ?? [];
  if (kind === "") throw usageError(`--initial must be ${FORMS}.`);
  if (kind === "blob") return { blob: value };
  if (kind === "participant") return { participant: wholeNumber(value) };
  const [, name = value, number] = /^(.*)@([^@]*)$/.exec(value) ?? [];
  return { [kind]: name, ...(number === undefined ? {} : { [NUMBERS[kind] ?? ""]: wholeNumber(number) }) };
}

function wholeNumber(text: string): number {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  throw usageError(`--initial must be ${FORMS}; "${text}" is not a whole number.`);
}
