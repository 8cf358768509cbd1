import { z } from "zod";

// The control plane has already read the configuration and warned of its mistakes. Here a value that cannot be used counts as absent: one
// bad field must not disable an edge's whole routing table.

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
