import type { Context } from "../context.ts";
import type { ApiAnswer, Auth, Method } from "../http/client.ts";
import type { View } from "../output/printer.ts";

/** How the text of an option becomes a value. `none` takes a limit away where `clears` says so. */
export type Kind = "text" | "integer" | "number" | "usd" | "list" | "time" | "true" | "false" | "secret" | "json";

export interface Field {
  /** As commander takes it: "--team <id>", or "<id>" for a word of the command. */
  readonly flag: string;
  readonly description: string;
  /** The field's name in the request; of a path it is what stands after the colon. */
  readonly to: string;
  readonly in: "path" | "query" | "body";
  readonly kind?: Kind;
  readonly required?: boolean;
  readonly clears?: boolean;
  readonly choices?: readonly string[];
  /** Asked for on a terminal when it is missing. */
  readonly question?: string;
}

/** A command that is one HTTP operation. */
export interface OperationSpec {
  /** The word of the command, inside its group. */
  readonly name: string;
  readonly summary: string;
  readonly method: Method;
  readonly path: string;
  readonly auth: Auth;
  readonly fields?: readonly Field[];
  readonly view: View;
  /** Fields of the answer that are kept, not shown. */
  readonly hidden?: readonly string[];
  /** Asked before it is done; {word} stands for what the command was given. */
  readonly confirm?: string;
  /** What is left to do before the request: fills fields in, or asks. */
  readonly before?: (context: Context, values: Values) => Promise<void>;
  /** What is left to do after the answer. */
  readonly after?: (context: Context, answer: ApiAnswer, given: Given) => Promise<void> | void;
}

/** The request's fields, by place and name. */
export interface Values {
  readonly path: Record<string, string>;
  readonly query: Record<string, string>;
  readonly body: Record<string, unknown>;
}

/** What was on the command line, read. */
export interface Given {
  readonly values: Values;
  /** Every option by commander's name, also those that are no field of the request. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** Commands under one word, such as `gw keys`. */
export interface Group {
  readonly name: string;
  readonly summary: string;
  readonly operations: readonly OperationSpec[];
  /** The operation that the word alone means. */
  readonly alone?: string;
}

export const word = (name: string, description: string, to = name): Field => ({
  flag: `<${name}>`,
  description,
  to,
  in: "path",
  required: true,
});

export const filter = (flag: string, description: string, to: string, more: Partial<Field> = {}): Field => ({
  flag,
  description,
  to,
  in: "query",
  ...more,
});

export const given = (flag: string, description: string, to: string, more: Partial<Field> = {}): Field => ({
  flag,
  description,
  to,
  in: "body",
  ...more,
});

export const required = { required: true } as const;
