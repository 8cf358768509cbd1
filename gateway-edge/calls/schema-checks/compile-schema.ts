import { createRequire } from "node:module";
import type { ErrorObject } from "ajv";
import { AppError } from "../../../common/errors.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import { schemaFault } from "./schema-fault.ts";
import { type SchemaWeight, weighSchema } from "./schema-weight.ts";

const SCHEMA_BYTES_MAX = 64 * 1024;
const COMPILED_MAX = 200;
/** Of the texts of compiled schemas; compiled they take some twenty times as much memory. */
const COMPILED_CHARACTERS_MAX = 1024 * 1024;

/** Why a text does not match a JSON schema, in a few words; undefined when it matches. */
export type SchemaCheck = (text: string) => string | undefined;

/** A schema that was read and not compiled. */
export interface ReadSchema {
  readonly schema: Fields;
  readonly text: string;
  readonly weight: SchemaWeight;
}

const weights = new Map<string, SchemaWeight>();
const compiled = new Map<string, SchemaCheck>();
let compiledCharacters = 0;

/** Reads a schema in time that grows with its size. Throws INVALID_REQUEST for one that is too large or whose checks cannot end. */
export function readSchema(schema: Fields): ReadSchema {
  const text = textOf(schema);
  const known = weights.get(text);
  if (known) return { schema, text, weight: known };
  if (Buffer.byteLength(text) > SCHEMA_BYTES_MAX) throw refuse(`has more than ${SCHEMA_BYTES_MAX} bytes`);
  const weight = weighSchema(schema);
  const fault = weight.hasOwnIds ? undefined : schemaFault(schema);
  if (fault !== undefined) throw refuse(fault);
  const oldest = weights.keys().next().value;
  if (weights.size >= COMPILED_MAX && oldest !== undefined) weights.delete(oldest);
  weights.set(text, weight);
  return { schema, text, weight };
}

/**
 * Compiles a schema. Throws INVALID_REQUEST for one that refers to other documents or is not valid. Compiling and checking take as long as they
 * take: where a caller wrote the schema, see `SchemaChecks`.
 */
export function compileSchema({ schema, text }: Pick<ReadSchema, "schema" | "text">): SchemaCheck {
  const known = compiled.get(text);
  if (known) return known;
  const check = compile(schema);
  compiled.set(text, check);
  compiledCharacters += text.length;
  for (const oldest of compiled.keys()) {
    if (compiled.size <= COMPILED_MAX && compiledCharacters <= COMPILED_CHARACTERS_MAX) break;
    compiled.delete(oldest);
    compiledCharacters -= oldest.length;
  }
  return check;
}

/** A `pattern` is not evaluated: callers write the schema, and a pattern could take forever. Everything else of the schema applies. */
const anyText = Object.assign(() => ({ test: () => true }), { code: "() => ({ test: () => true })" });

/** Loaded synchronously with the first schema, so that an invalid guardrail schema is reported when it is configured. */
export function loadAjv() {
  return createRequire(import.meta.filename)("ajv") as typeof import("ajv");
}

function compile(schema: Fields): SchemaCheck {
  const { Ajv } = loadAjv();
  // A new instance for each schema: a shared one would remember every $id. Inlined references and the optimizer make the time of compiling grow
  // much faster than the schema: to seconds for a few kilobytes. `addUsedSchema` lets "$ref": "#" find the schema itself.
  const ajv = new Ajv({
    strict: false,
    validateFormats: false,
    validateSchema: false,
    addUsedSchema: true,
    inlineRefs: false,
    logger: false,
    code: { regExp: anyText, optimize: false },
  });
  // Without patterns it is not known which names a schema of `patternProperties` is for. Applied to all of them it would refuse answers that match.
  ajv.removeKeyword("patternProperties");
  // Of an asynchronous check the answer would be a promise: every text would match, and the first that does not would end the process.
  const { $schema: _dialect, $id: _id, $async: _async, ...own } = schema;
  let validate: ReturnType<typeof ajv.compile>;
  try {
    validate = ajv.compile(own);
  } catch (cause) {
    if (cause instanceof RangeError) throw refuse("is nested too deeply", cause);
    throw refuse(`cannot be used: ${(cause as Error).message.slice(0, 200)}`, cause);
  }
  return (text) => {
    const value = parsed(text);
    if (value === undefined) return "it is not JSON";
    try {
      return validate(value) ? undefined : described(validate.errors?.[0]);
    } catch (error) {
      // The schema refers to itself, and the answer is nested deeper than the stack.
      if (error instanceof RangeError) return "it is nested too deeply";
      throw error;
    }
  };
}

function textOf(schema: Fields): string {
  try {
    return JSON.stringify(schema);
  } catch (cause) {
    throw refuse("is nested too deeply", cause);
  }
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
