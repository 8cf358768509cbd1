import { Packr } from "msgpackr";

// As in record-format.ts: plain maps, and bigints stay bigints.
const packr = new Packr({ useRecords: false, int64AsType: "bigint" });

/** How a column is written; it begins with one of these. */
const FORM = { same: 0, values: 1, steps: 2, bigSteps: 3, joined: 4, hex: 5, fields: 6 } as const;

/** Shorter texts are not worth a look at what they consist of. */
const HEX_MIN = 16;

/** A column as it is written: its form, then what the form needs. */
type Column = [form: number, ...rest: unknown[]];

type Fields = Readonly<Record<string, unknown>>;

/**
 * Rows as columns of the named fields: rows of one batch have most values in common, and what differs is mostly a number close to the one
 * before it or a text of the same length. It takes a quarter of the space of the rows one by one. An absent field is null.
 */
export function packColumns(rows: readonly object[], names: readonly string[]): Buffer {
  return packr.pack([rows.length, ...names.map((name) => columnOf(rows as readonly Fields[], name))]);
}

/** Packed rows, which are read by row and column. */
export class Columns {
  readonly rows: number;
  readonly #columns: readonly Column[];

  constructor(bytes: Buffer) {
    const [rows, ...columns] = packr.unpack(bytes) as [number, ...Column[]];
    this.rows = rows;
    this.#columns = columns;
    for (const column of columns) unfold(column);
  }

  get count(): number {
    return this.#columns.length;
  }

  value(column: number, row: number): unknown {
    return valueIn(this.#columns[column] as Column, row);
  }
}

function columnOf(rows: readonly Fields[], name: string): Column {
  const first = rows[0]?.[name] ?? null;
  let same = 1;
  while (same < rows.length && isSame(rows[same]?.[name] ?? null, first)) same++;
  if (same === rows.length) return [FORM.same, first];
  const values: unknown[] = [];
  for (const row of rows) values.push(row[name] ?? null);
  switch (typeof first) {
    case "number":
      return steps(values) ?? plain(values);
    case "bigint":
      return bigSteps(values) ?? plain(values);
    case "string":
      return joined(values) ?? plain(values);
    case "object":
      return fields(values) ?? plain(values);
    default:
      return plain(values);
  }
}

function plain(values: readonly unknown[]): Column {
  return [FORM.values, ...values];
}

/** Whole numbers, each as its difference to the one before. */
function steps(values: readonly unknown[]): Column | undefined {
  const column: [number, ...number[]] = [FORM.steps];
  let before = 0;
  for (const value of values) {
    if (!Number.isSafeInteger(value)) return undefined;
    const step = (value as number) - before;
    if (!Number.isSafeInteger(step)) return undefined;
    column.push(step);
    before = value as number;
  }
  return column;
}

function bigSteps(values: readonly unknown[]): Column | undefined {
  const column: [number, ...unknown[]] = [FORM.bigSteps, values[0]];
  let before = values[0] as bigint;
  for (const value of values.slice(1)) {
    if (typeof value !== "bigint") return undefined;
    const step = Number(value - before);
    if (!Number.isSafeInteger(step)) return undefined;
    column.push(step);
    before = value;
  }
  return column;
}

/** Texts of the same length, as one; digits of a hash as the bytes they stand for. */
function joined(values: readonly unknown[]): Column | undefined {
  const { length } = values[0] as string;
  if (!values.every((value) => typeof value === "string" && value.length === length)) return undefined;
  const text = values.join("");
  const bytes = length >= HEX_MIN && length % 2 === 0 ? Buffer.from(text, "hex") : undefined;
  return bytes?.toString("hex") === text ? [FORM.hex, length, bytes] : [FORM.joined, length, text];
}

/** Objects with the same fields in the same order, as columns of their own. */
function fields(values: readonly unknown[]): Column | undefined {
  if (!values.every(isPlain)) return undefined;
  const rows = values as readonly Fields[];
  const names = Object.keys(rows[0] as Fields);
  if (!rows.every((row) => hasFields(row, names))) return undefined;
  return [FORM.fields, names, names.map((name) => columnOf(rows, name))];
}

function isPlain(value: unknown): boolean {
  return value !== null && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype;
}

/** With a value in each field: one that has none would come back as null. */
function hasFields(row: Fields, names: readonly string[]): boolean {
  let place = 0;
  for (const name in row) if (name !== names[place++] || row[name] === undefined) return false;
  return place === names.length;
}

/** Lists are the same if their elements are: every row has a list of its own. */
function isSame(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true;
  if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
  return left.every((value, place) => isSame(value, right[place]));
}

/** Makes steps to values and bytes to text, in place: a column is read for many rows. */
function unfold(column: Column): void {
  switch (column[0]) {
    case FORM.steps:
      for (let place = 2; place < column.length; place++) column[place] = (column[place] as number) + (column[place - 1] as number);
      column[0] = FORM.values;
      return;
    case FORM.bigSteps:
      for (let place = 2; place < column.length; place++) column[place] = BigInt(column[place] as number) + (column[place - 1] as bigint);
      column[0] = FORM.values;
      return;
    case FORM.hex:
      column[2] = (column[2] as Buffer).toString("hex");
      column[0] = FORM.joined;
      return;
    case FORM.fields:
      for (const inner of column[2] as Column[]) unfold(inner);
      return;
    case FORM.same:
    case FORM.values:
    case FORM.joined:
      return;
    default:
      throw new Error(`a column of the form ${column[0]} is of a later release`);
  }
}

function valueIn(column: Column, row: number): unknown {
  switch (column[0]) {
    case FORM.same:
      return column[1];
    case FORM.values:
      return column[row + 1];
    case FORM.joined: {
      const length = column[1] as number;
      return (column[2] as string).slice(row * length, (row + 1) * length);
    }
    default: {
      const [, names, columns] = column as [number, string[], Column[]];
      const value: Record<string, unknown> = {};
      for (const [place, name] of names.entries()) value[name] = valueIn(columns[place] as Column, row);
      return value;
    }
  }
}
