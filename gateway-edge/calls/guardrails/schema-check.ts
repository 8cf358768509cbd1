import { createRequire } from "node:module";
import type { ErrorObject } from "ajv";
import { AppError } from "../../../common/errors.ts";
import type { Fields } from "../../upstream/providers/provider.ts";

const SCHEMA_BYTES_MAX = 64 * 1024;
const COMPILED_MAX = 200;

/** What is wrong with a text as JSON of a schema, in a few words; undefined when nothing is. */
export type SchemaCheck = (text: string) => string | undefined;

const compiled = new Map<string, SchemaCheck>();

/** Compiles once for each schema. Throws INVALID_REQUEST for one that is too large, refers to other documents, or is none. */
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

/**
 * A client's pattern is not run: it could take for ever, and the schema comes from whoever calls. Everything else of the schema holds.
 */
const anyText = Object.assign(() => ({ test: () => true }), { code: "() => ({ test: () => true })" });

/** Loaded with the first schema, and at once: a guardrail whose schema is none is described of when it is configured. */
function loadAjv() {
  return createRequire(import.meta.filename)("ajv") as typeof import("ajv");
}

function compile(schema: Fields): SchemaCheck {
  const { Ajv } = loadAjv();
  // One for each schema: a shared one would remember every $id.
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
