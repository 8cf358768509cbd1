import { createRequire } from "node:module";
import type { ErrorObject } from "ajv";
import { AppError } from "../../../common/errors.ts";
import type { Fields } from "../../upstream/providers/provider.ts";

const SCHEMA_BYTES_MAX = 64 * 1024;
const COMPILED_MAX = 200;

/** Why a text does not match a JSON schema, in a few words; undefined when it matches. */
export type SchemaCheck = (text: string) => string | undefined;

const compiled = new Map<string, SchemaCheck>();

/** Compiles a schema. Throws INVALID_REQUEST for one that is too large, refers to other documents, or is not valid. */
export function compileSchema(schema: Fields): SchemaCheck {
  const text = JSON.stringify(schema);
  const known = compiled.get(text);
  if (known) return known;
  if (Buffer.byteLength(text) > SCHEMA_BYTES_MAX) throw refuse(`has more than ${SCHEMA_BYTES_MAX} bytes`);
  const check = compile(schema);
  const oldest = compiled.keys().next().value;
  if (compiled.size >= COMPILED_MAX && oldest !== undefined) compiled.delete(oldest);
  compiled.set(text, check);
  return check;
}

/** A `pattern` is not evaluated: callers write the schema, and a pattern could take forever. Everything else of the schema applies. */
const anyText = Object.assign(() => ({ test: () => true }), { code: "() => ({ test: () => true })" });

/** Loaded synchronously with the first schema, so that an invalid guardrail schema is reported when it is configured. */
function loadAjv() {
  return createRequire(import.meta.filename)("ajv") as typeof import("ajv");
}

function compile(schema: Fields): SchemaCheck {
  const { Ajv } = loadAjv();
  // A new instance for each schema: a shared one would remember every $id.
  const ajv = new Ajv({ strict: false, validateFormats: false, validateSchema: false, addUsedSchema: false, code: { regExp: anyText } });
  const { $schema: _dialect, $id: _id, ...own } = schema;
  let validate: ReturnType<typeof ajv.compile>;
  try {
    validate = ajv.compile(own);
  } catch (cause) {
    throw refuse(`cannot be used: ${(cause as Error).message.slice(0, 200)}`, cause);
  }
  return (text) => {
    const value = parsed(text);
    if (value === undefined) return "it is not JSON";
    return validate(value) ? undefined : described(validate.errors?.[0]);
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function described(error: ErrorObject | undefined): string {
  return `${error?.instancePath || "the value"} ${error?.message ?? "is not valid"}`.slice(0, 200);
}

function refuse(message: string, cause?: unknown): AppError {
  return new AppError("INVALID_REQUEST", `The JSON schema ${message}.`, { param: "response_format", cause });
}
