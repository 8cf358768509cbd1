import { readFileSync } from "node:fs";
import { fromJson } from "../../common/json.ts";
import { fromUsd } from "../../common/money.ts";
import { usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { canChoose, pickFrom } from "./pick.ts";
import type { Field, FieldKind, RequestValues } from "./spec.ts";

export type Options = Readonly<Record<string, unknown>>;

/** Builds request values from the arguments and options of a command line. */
export async function readValues(
  context: Context,
  fields: readonly Field[],
  given: { words: readonly string[]; options: Options },
): Promise<RequestValues> {
  const values: RequestValues = { path: {}, query: {}, body: {} };
  const words = [...given.words];
  for (const field of fields) {
    const text = isWord(field) ? words.shift() : given.options[optionName(field.flag)];
    const value = await readField(context, field, text);
    if (value === undefined) continue;
    if (field.in === "body") setAt(values.body, field.to, value);
    else values[field.in][field.to] = String(value);
  }
  return values;
}

/** Sets a nested field: "pricing.input" is field `input` of object `pricing`. */
function setAt(body: Record<string, unknown>, path: string, value: unknown): void {
  const [name = path, ...rest] = path.split(".");
  if (rest.length === 0) body[name] = value;
  else {
    body[name] ??= {};
    setAt(body[name] as Record<string, unknown>, rest.join("."), value);
  }
}

export const isWord = ({ flag }: Field): boolean => flag.startsWith("<") || flag.startsWith("[");

/** Commander's name of an option: "--page-size <n>" → pageSize. */
function optionName(flag: string): string {
  const long = /--([a-z-]+)/.exec(flag)?.[1] ?? flag;
  return long.replace(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

async function readField(context: Context, field: Field, text: unknown): Promise<unknown> {
  if (field.kind === "secret" && !field.required && text !== true) return undefined;
  if (field.kind === "secret") return context.secret(field.question ?? field.to, { fromStdin: text === true, flag: field.flag });
  if (text === undefined) return askField(context, field);
  if (field.kind === "true" || field.kind === "false") return field.kind === "true";
  if (field.clears && text === "none") return null;
  return READERS[field.kind ?? "text"](String(text), field);
}

async function askField(context: Context, field: Field): Promise<string | undefined> {
  const { io } = context;
  if (!field.required) return undefined;
  if (field.pick && canChoose(io)) return pickFrom(context, field.pick, field.description);
  if (field.question && io.stdinIsTerminal) return io.prompts.ask(field.question);
  throw usageError(`${field.flag} is required: ${field.description}.`);
}

const READERS: Readonly<Record<Exclude<FieldKind, "true" | "false" | "secret">, (text: string, field: Field) => unknown>> = {
  text: (text, { flag, choices }) => {
    if (choices && !choices.includes(text)) throw usageError(`${flag}: ${text} is not one of ${choices.join(", ")}.`);
    return text;
  },
  integer: (text, { flag }) => {
    if (!/^-?\d{1,18}$/.test(text)) throw usageError(`${flag}: ${text} is not a whole number.`);
    return BigInt(text);
  },
  number: (text, { flag }) => {
    if (text.trim() === "" || !Number.isFinite(Number(text))) throw usageError(`${flag}: ${text} is not a number.`);
    return Number(text);
  },
  usd: (text, { flag }) => {
    const amount = fromUsd(text.replace(/^(-?)\$/, "$1"));
    if (amount === undefined) throw usageError(`${flag}: ${text} is not an amount in USD with at most nine decimals.`);
    return amount;
  },
  list: (text) =>
    text
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== ""),
  time: (text, { flag }) => {
    const at = new Date(text);
    if (Number.isNaN(at.getTime())) throw usageError(`${flag}: ${text} is not a time such as 2026-11-15T09:00:00Z.`);
    return at.toISOString();
  },
  file: (text, { flag }) => {
    if (text === "none") return "";
    try {
      return readFileSync(text, "utf8");
    } catch (error) {
      throw usageError(`${flag}: the file cannot be read: ${(error as NodeJS.ErrnoException).message}.`);
    }
  },
  json: (text, { flag }) => {
    try {
      return fromJson(text);
    } catch {
      throw usageError(`${flag}: the value is not valid JSON.`);
    }
  },
};
