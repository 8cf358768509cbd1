import { z } from "zod";
import type { FormField } from "../../upstream/providers/provider.ts";

/** The fields of a form as an object; `name[]` and repeated names become arrays. */
export function formObject(fields: readonly FormField[]): Record<string, unknown> {
  const object: Record<string, unknown> = Object.create(null);
  for (const [field, value] of fields) {
    const name = field.replace(/\[\]$/, "");
    const known = object[name];
    if (Array.isArray(known)) known.push(value);
    else if (known !== undefined) object[name] = [known, value];
    else object[name] = field.endsWith("[]") ? [value] : value;
  }
  return { ...object };
}

// Form fields are strings: these schemas accept numbers, flags and lists in that form.
export const formNumber = (min: number, max: number) =>
  z
    .string()
    .refine((text) => text.trim() !== "" && Number(text) >= min && Number(text) <= max, `must be a number from ${min} to ${max}`)
    .meta({ openapi: { type: "number", minimum: min, maximum: max } });

export const formCount = (min: number, max: number) =>
  z
    .string()
    .refine((text) => /^\d{1,6}$/.test(text) && Number(text) >= min && Number(text) <= max, `must be a whole number from ${min} to ${max}`)
    .meta({ openapi: { type: "integer", minimum: min, maximum: max } });

export const formFlag = z
  .string()
  .refine((text) => /^(true|false)$/i.test(text), "must be true or false")
  .meta({ openapi: { type: "boolean" } });

export const formList = <Schema extends z.ZodType<unknown, string>>(entry: Schema) => z.union([entry, z.array(entry).max(16)]);

/** A file of the form. It is not among the parsed fields; the schema is for /openapi.json. */
export const formFile = z
  .unknown()
  .optional()
  .meta({ openapi: { type: "string", format: "binary" } });

export const isTrue = (text: unknown): boolean => typeof text === "string" && text.toLowerCase() === "true";
