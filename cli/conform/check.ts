import { valueAt } from "../output/values.ts";

/** Expected value of a response field: a type, or an exact text after "=". */
export type Expected = "string" | "integer" | "number" | "boolean" | "array" | "object" | `=${string}`;
export type ResponseShape = Readonly<Record<string, Expected>>;

/** RequestValues that earlier checks collect for later ones. */
export interface CheckState {
  email: string;
  password: string;
  model: string;
  token?: string;
  key?: string;
  keyId?: string;
  organizationId?: string;
  organizationName?: string;
  teamId?: string;
  memberId?: string;
  assistantId?: string;
  threadId?: string;
  parameters?: string;
}

export type CheckAuth = "none" | "token" | "key" | "bearer key";

/** One documented operation: the request to send and the response to expect. */
export interface Check {
  readonly document: "platform" | "gateway" | "hosted" | "participant" | "pages";
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** The path as documented. */
  readonly path: string;
  /** The request variant, such as "streamed". */
  readonly variant?: string;
  readonly auth: CheckAuth;
  /** The path with its parameters filled in; by default the documented path. */
  readonly url?: (state: CheckState) => string;
  readonly body?: (state: CheckState) => unknown;
  /** Expected statuses; by default 200 and 201. */
  readonly status?: readonly number[];
  readonly shape?: ResponseShape;
  /** An additional check of the response; returns what is wrong, or undefined. */
  readonly inspect?: (answer: CheckAnswer, state: CheckState) => string | undefined;
  /** Stores values that later checks need. */
  readonly save?: (state: CheckState, body: unknown) => void;
}

export interface CheckAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: unknown;
}

export interface CheckResult {
  readonly document: string;
  readonly operation: string;
  readonly result: "pass" | "fail";
  readonly status: number | null;
  readonly ms: number;
  readonly why: string | null;
}

/** Describes the first field that does not have the expected shape. */
export function shapeFault(shape: ResponseShape, body: unknown): string | undefined {
  for (const [path, expected] of Object.entries(shape)) {
    const value = valueAt(body, path);
    if (expected.startsWith("=")) {
      if (value !== expected.slice(1)) return `${path} is ${show(value)}, not ${expected.slice(1)}`;
    } else if (!KINDS[expected as keyof typeof KINDS](value)) return `${path} is ${show(value)}, not of type ${expected}`;
  }
  return undefined;
}

const KINDS = {
  string: (value: unknown) => typeof value === "string",
  integer: (value: unknown) => typeof value === "bigint" || Number.isInteger(value),
  number: (value: unknown) => typeof value === "bigint" || typeof value === "number",
  boolean: (value: unknown) => typeof value === "boolean",
  array: (value: unknown) => Array.isArray(value),
  object: (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value),
};

function show(value: unknown): string {
  if (value === undefined) return "missing";
  return typeof value === "string" ? `"${value.slice(0, 40)}"` : String(value);
}
