import { type Paint, stateTone } from "./paint.ts";
import { textWidth, truncate } from "./text-width.ts";
import { alignsRight, type Column, format, valueAt } from "./values.ts";

const GAP = "  ";
const WIDTH_MIN = 6;

/** A table with column titles. Without `width`, columns are as wide as their content. */
export function table(input: { columns: readonly Column[]; rows: readonly unknown[]; paint: Paint; width: number | undefined }): string {
  const { columns, rows, paint, width } = input;
  const cells = rows.map((row) => columns.map((column) => format(valueAt(row, column.at), column.as)));
  const needed = columns.map(({ title }, index) => Math.max(textWidth(title), ...cells.map((line) => textWidth(line[index] ?? ""))));
  const widths = width === undefined ? needed : fitted(needed, width);
  const line = (texts: readonly string[], tone: (text: string, column: Column) => string) =>
    columns
      .map((column, index) => {
        const text = truncate(texts[index] ?? "", widths[index] ?? 0);
        const space = " ".repeat(Math.max(0, (widths[index] ?? 0) - textWidth(text)));
        const last = index === columns.length - 1;
        return alignsRight(column.as) ? space + tone(text, column) : tone(text, column) + (last ? "" : space);
      })
      .join(GAP)
      .trimEnd();
  const titles = line(
    columns.map(({ title }) => title.toUpperCase()),
    (text) => paint("dim", text),
  );
  const toned = (text: string, column: Column) => {
    const tone = column.as === "state" ? stateTone(text) : undefined;
    return tone ? paint(tone, text) : text;
  };
  return [titles, ...cells.map((texts) => line(texts, toned))].map((text) => `${text}\n`).join("");
}

/** One record with one field per line. */
export function record(input: { fields: readonly Column[]; value: unknown; paint: Paint }): string {
  const { fields, value, paint } = input;
  const wide = Math.max(...fields.map(({ title }) => title.length));
  return fields
    .map(({ title, at, as }) => {
      const text = format(valueAt(value, at), as);
      const tone = as === "state" ? stateTone(text) : undefined;
      return `${paint("dim", title.padEnd(wide))}${GAP}${tone ? paint(tone, text) : text}\n`;
    })
    .join("");
}

/** Shrinks the widest column until the line fits. */
function fitted(needed: readonly number[], width: number): number[] {
  const widths = [...needed];
  let over = widths.reduce((sum, one) => sum + one, 0) + GAP.length * (widths.length - 1) - width;
  while (over > 0) {
    const widest = widths.indexOf(Math.max(...widths));
    if ((widths[widest] ?? 0) <= WIDTH_MIN) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    over -= 1;
  }
  return widths;
}
