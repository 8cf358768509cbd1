import { z } from "zod";
import { AppError, type ErrorDetail } from "../../../common/errors.ts";

const UNKNOWN_FIELDS_MAX = 20;

export type InputPlace = "body" | "query" | "params";

/** Validates input against the schema; throws VALIDATION_ERROR with all problems and their paths. */
export function validate<Schema extends z.ZodType>(schema: Schema, value: unknown, place: InputPlace): z.output<Schema> {
  refusePrototypeKeys(value, place);
  const result = schema.safeParse(place === "params" ? value : withDeclaredSpelling(schema, value));
  if (result.success) return result.data;
  throw invalid(result.error.issues.flatMap((issue) => detailsOf(issue, place)));
}

/** An unknown field is reported under its own path, not under its object's. */
function detailsOf(issue: z.core.$ZodIssue, place: InputPlace): ErrorDetail[] {
  const path = [place, ...issue.path.map(String)].join(".");
  if (issue.code !== "unrecognized_keys") return [{ path, message: issue.message }];
  return issue.keys.slice(0, UNKNOWN_FIELDS_MAX).map((key) => ({ path: `${path}.${key.slice(0, 100)}`, message: "is not a known field" }));
}

/** Renames fields to the schema's spelling: camelCase and snake_case are both accepted. */
function withDeclaredSpelling(schema: z.ZodType, value: unknown): unknown {
  const shape = shapeOf(schema);
  if (!shape || typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const given: Record<string, unknown> = { ...value };
  for (const name of Object.keys(shape)) {
    const other = otherSpelling(name);
    if (given[name] !== undefined || other === name || !Object.hasOwn(given, other)) continue;
    given[name] = given[other];
    delete given[other];
  }
  return given;
}

function shapeOf(schema: z.ZodType): z.ZodRawShape | undefined {
  if (schema instanceof z.ZodObject) return schema.shape as z.ZodRawShape;
  if (schema instanceof z.ZodPipe) return shapeOf(schema.in as z.ZodType);
  return undefined;
}

function otherSpelling(name: string): string {
  return name.includes("_")
    ? name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase())
    : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

// Schemas copy only declared fields, so such a key has no effect; it is refused because only an attacker sends it.
function refusePrototypeKeys(value: unknown, path: string): void {
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    const nested = name === "constructor" && typeof inner === "object" && inner !== null && Object.hasOwn(inner, "prototype");
    if (name === "__proto__" || nested) throw invalid([{ path: `${path}.${name}`, message: "is not an allowed field name" }]);
    refusePrototypeKeys(inner, `${path}.${name}`);
  }
}

function invalid(details: readonly ErrorDetail[]): AppError {
  const [first] = details;
  return new AppError("VALIDATION_ERROR", `The request is not valid: ${first?.path}: ${first?.message}`, { details });
}
