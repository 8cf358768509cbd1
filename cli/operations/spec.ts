import type { CliError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import type { ApiAnswer, Auth, Method } from "../http/client.ts";
import type { View } from "../output/printer.ts";

/** How the text of an option is parsed. With `clears`, the text `none` removes a limit. */
export type FieldKind = "text" | "integer" | "number" | "usd" | "list" | "time" | "true" | "false" | "secret" | "json" | "file";

export interface Field {
  /** In commander's syntax: "--team <id>", or "<id>" for a positional argument. */
  readonly flag: string;
  readonly description: string;
  /** The field's name in the request; for a path, the name after the colon. */
  readonly to: string;
  readonly in: "path" | "query" | "body";
  readonly kind?: FieldKind;
  readonly required?: boolean;
  readonly clears?: boolean;
  readonly choices?: readonly string[];
  /** The prompt on a terminal when the value is missing. */
  readonly question?: string;
  /** The list from which the value is chosen on a terminal when it is missing: the group's, another one, or null for none. */
  readonly pick?: OperationSpec | null;
}

/** A command that maps to one HTTP operation. */
export interface OperationSpec {
  /** The command's name inside its group. */
  readonly name: string;
  readonly summary: string;
  readonly method: Method;
  readonly path: string;
  readonly auth: Auth;
  readonly fields?: readonly Field[];
  readonly view: View;
  /** Response fields that are stored but not printed. */
  readonly hidden?: readonly string[];
  /** Confirmation prompt; {args} is replaced by the arguments. */
  readonly confirm?: string;
  /** Runs before the request and completes its values. */
  readonly before?: (context: Context, values: RequestValues) => Promise<void>;
  /** Runs after an error and may complete the values; true sends the request once more. */
  readonly retry?: (context: Context, error: CliError, values: RequestValues) => Promise<boolean>;
  /** Runs after the response. */
  readonly after?: (context: Context, answer: ApiAnswer, given: CommandInput) => Promise<void> | void;
}

/** Request values by location and name. */
export interface RequestValues {
  readonly path: Record<string, string>;
  readonly query: Record<string, string>;
  readonly body: Record<string, unknown>;
}

/** The parsed command line. */
export interface CommandInput {
  readonly values: RequestValues;
  /** All options by commander's name, including those that are not request fields. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** A group of commands, such as `gw keys`. */
export interface Group {
  readonly name: string;
  readonly summary: string;
  readonly operations: readonly OperationSpec[];
  /** The default operation of the group. */
  readonly default?: string;
}

export const argument = (name: string, description: string, to = name): Field => ({
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

export const option = (flag: string, description: string, to: string, more: Partial<Field> = {}): Field => ({
  flag,
  description,
  to,
  in: "body",
  ...more,
});

export const required = { required: true } as const;
