import { z } from "zod";

// The control plane has read the configuration before and warned of what is wrong in it. Here a value that cannot be used is as if
// it were absent: one bad field must not take an edge's whole routing table down.

const amount = z.union([z.number(), z.string().trim().min(1).transform(Number)]).pipe(z.number().min(0));

export const lenientNumber = amount.optional().catch(undefined);
export const lenientWhole = amount.pipe(z.number().int()).optional().catch(undefined);
export const lenientFlag = z
  .union([z.boolean(), z.enum(["true", "True"]).transform(() => true), z.enum(["false", "False"]).transform(() => false)])
  .optional()
  .catch(undefined);
export const lenientText = z.string().min(1).optional().catch(undefined);
export const lenientTexts = z.array(z.string()).optional().catch(undefined);
export const lenientFields = z.record(z.string(), z.unknown()).optional().catch(undefined);

/** JSON text as an object; anything else is an empty one. */
export function readFields(json: string): Readonly<Record<string, unknown>> {
  try {
    return lenientFields.parse(JSON.parse(json)) ?? {};
  } catch {
    return {};
  }
}
