import { valueAt } from "../output/values.ts";

/** What a field of an answer must be: a kind of value, or with "=" before it exactly that text. */
export type Expected = "string" | "integer" | "number" | "boolean" | "array" | "object" | `=${string}`;
export type Shape = Readonly<Record<string, Expected>>;

/** What later checks need of earlier ones. */
export interface World {
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

export type Carrier = "none" | "token" | "key" | "bearer key";

/** One operation of a document, as a request and what must come back. */
export interface Check {
  readonly document: "platform" | "gateway" | "hosted" | "participant" | "pages";
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** As the document writes it. */
  readonly path: string;
  /** What is special about this row, such as "streamed". */
  readonly variant?: string;
  readonly carrier: Carrier;
  /** The path with its parameters filled in; the documented one where it has none. */
  readonly url?: (world: World) => string;
  readonly body?: (world: World) => unknown;
  /** Statuses that are right; 200 and 201 where none are named. */
  readonly status?: readonly number[];
  readonly shape?: Shape;
  /** Another look at the answer: what is wrong with it, or nothing. */
  readonly look?: (answer: CheckAnswer, world: World) => string | undefined;
  /** Takes along what later checks need. */
  readonly keep?: (world: World, body: unknown) => void;
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

/** The first field that is not as the document says. */
export function shapeFault(shape: Shape, body: unknown): string | undefined {
  for (const [path, expected] of Object.entries(shape)) {
    const value = valueAt(body, path);
    if (expected.startsWith("=")) {
      if (value !== expected.slice(1)) return `${path} is ${show(value)}, not ${expected.slice(1)}`;
    } else if (!KINDS[expected as keyof typeof KINDS](value)) return `${path} is ${show(value)}, no ${expected}`;
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
