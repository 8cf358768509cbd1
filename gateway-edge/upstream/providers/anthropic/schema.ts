import type { Fields } from "../provider.ts";
import { asFields } from "../shared/json-fields.ts";

/** Constraints that the native output format refuses; they are written into the description, where the model reads them. */
const UNSUPPORTED = new Set([
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
]);
const LEFT_OUT = new Set(["$schema", "strict"]);
/** Keywords whose value is a schema, a list of them, or schemas by name. */
const NESTED = new Set(["items", "additionalProperties", "not", "anyOf", "allOf", "oneOf", "prefixItems"]);
const NAMED = new Set(["properties", "$defs", "definitions"]);

/** A schema as the native output format takes it; the caller's own object is not changed. */
export function nativeSchema(schema: Fields): Fields {
  const result: Record<string, unknown> = {};
  const limits: string[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (UNSUPPORTED.has(keyword)) limits.push(`${keyword}: ${JSON.stringify(value)}`);
    else if (!LEFT_OUT.has(keyword)) result[keyword] = nested(keyword, value);
  }
  if (limits.length > 0) {
    const description = typeof schema["description"] === "string" ? `${schema["description"]} ` : "";
    result["description"] = `${description}(${limits.join(", ")})`;
  }
  // Objects must be closed; an open one could not be enforced anyway.
  if (schema["type"] === "object" || schema["properties"] !== undefined) result["additionalProperties"] = false;
  return result;
}

/** Whether no object in the schema allows undeclared names. */
export function isClosed(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isClosed);
  if (typeof schema !== "object" || schema === null) return true;
  const { additionalProperties: others } = schema as Fields;
  if (typeof others === "object" && others !== null) return false;
  return Object.entries(schema).every(([keyword, value]) =>
    NAMED.has(keyword) ? Object.values(asFields(value)).every(isClosed) : !NESTED.has(keyword) || isClosed(value),
  );
}

function nested(keyword: string, value: unknown): unknown {
  if (NAMED.has(keyword)) {
    return Object.fromEntries(Object.entries(asFields(value)).map(([name, schema]) => [name, nativeValue(schema)]));
  }
  if (!NESTED.has(keyword)) return value;
  return Array.isArray(value) ? value.map(nativeValue) : nativeValue(value);
}

function nativeValue(value: unknown): unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? nativeSchema(value as Fields) : value;
}
