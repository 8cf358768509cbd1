import { type Paint, stateTone } from "./paint.ts";
import { textWidth, truncate } from "./text-width.ts";
import { alignsRight, type Column, format, valueAt } from "./values.ts";

const GAP = "  ";
const WIDTH_MIN = 6;
/** IDs are for copying, so they are never cut. */
const ID = /^[a-z]{2,8}_[0-9a-z]{20,40}$/;

interface TableInput {
  readonly columns: readonly Column[];
  readonly rows: readonly unknown[];
  readonly paint: Paint;
  /** The width of the terminal; without it, columns are as wide as their content. */
  readonly width: number | undefined;
  /** Times are relative to it; without it they are as in the response. */
  readonly nowMs?: number | undefined;
}

/** A table with column titles. Columns that do not fit beside the IDs are left out, and named below the table. */
export function table({ columns, rows, paint, width, nowMs }: TableInput): string {
  const shaped = columns.map((column) => shapeOf(column, rows, nowMs));
  const shown = width === undefined ? shaped : fitting(shaped, width);
  const hidden = shaped.filter(({ column }) => !shown.some((one) => one.column === column)).map(({ column }) => column.title);
  const line = (textOf: (shape: Shape) => string, tone: (text: string, column: Column) => string) =>
    shown
      .map((shape, index) => {
        const text = truncate(textOf(shape), shape.width);
        const space = " ".repeat(Math.max(0, shape.width - textWidth(text)));
        const last = index === shown.length - 1;
        return alignsRight(shape.column.as) ? space + tone(text, shape.column) : tone(text, shape.column) + (last ? "" : space);
      })
      .join(GAP)
      .trimEnd();
  const titles = line(
    ({ column }) => column.title.toUpperCase(),
    (text) => paint("dim", text),
  );
  const lines = rows.map((_row, index) => line(({ cells }) => cells[index] ?? "", toned(paint)));
  const note =
    hidden.length > 0 ? [paint("dim", truncate(`Not shown: ${hidden.join(", ")} (wider terminal, or --fields)`, width ?? 0))] : [];
  return [titles, ...lines, ...note].map((text) => `${text}\n`).join("");
}

/** One record with one field per line. */
export function record(input: { fields: readonly Column[]; value: unknown; paint: Paint; nowMs?: number | undefined }): string {
  const { fields, value, paint, nowMs } = input;
  const wide = Math.max(...fields.map(({ title }) => title.length));
  return fields
    .map(({ title, at, as }) => {
      const text = format(valueAt(value, at), as);
      const tone = as === "state" ? stateTone(text) : undefined;
      const relative = as === "time" && nowMs !== undefined && text !== "-" ? ` (${format(valueAt(value, at), as, nowMs)})` : "";
      return `${paint("dim", title.padEnd(wide))}${GAP}${tone ? paint(tone, text) : text}${paint("dim", relative)}\n`;
    })
    .join("");
}

/** A column with its texts and the width that they need. */
interface Shape {
  readonly column: Column;
  readonly cells: readonly string[];
  readonly width: number;
  readonly isId: boolean;
}

function shapeOf(column: Column, rows: readonly unknown[], nowMs: number | undefined): Shape {
  const cells = rows.map((row) => format(valueAt(row, column.at), column.as, nowMs));
  const width = Math.max(textWidth(column.title), ...cells.map(textWidth));
  return { column, cells, width, isId: cells.some((text) => ID.test(text)) };
}

const toned = (paint: Paint) => (text: string, column: Column) => {
  const tone = column.as === "state" ? stateTone(text) : undefined;
  return tone ? paint(tone, text) : text;
};

/** Leaves out the last columns until the rest fits with its smallest widths, then shrinks the widest until the line fits. */
function fitting(shapes: readonly Shape[], width: number): Shape[] {
  const kept = [...shapes];
  const least = ({ isId, width: needed }: Shape) => (isId ? needed : Math.min(needed, WIDTH_MIN));
  while (kept.length > 1 && lineWidth(kept.map(least)) > width) {
    const last = kept.findLastIndex(({ isId }) => !isId);
    if (last === -1) break;
    kept.splice(last, 1);
  }
  return shrunk(kept, width);
}

function shrunk(shapes: readonly Shape[], width: number): Shape[] {
  const widths = shapes.map((shape) => shape.width);
  for (let over = lineWidth(widths) - width; over > 0; over--) {
    const open = widths.map((one, index) => (shapes[index]?.isId ? 0 : one));
    const widest = open.indexOf(Math.max(...open));
    if ((widths[widest] ?? 0) <= WIDTH_MIN || shapes[widest]?.isId) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return shapes.map((shape, index) => ({ ...shape, width: widths[index] ?? shape.width }));
}

const lineWidth = (widths: readonly number[]): number => widths.reduce((sum, one) => sum + one, 0) + GAP.length * (widths.length - 1);
