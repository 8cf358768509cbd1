import { z } from "zod";
import { formFile } from "../calls/form-fields.ts";

const PURPOSES = ["assistants", "batch", "fine-tune", "vision", "user_data", "evals"] as const;
const EXPIRY_SECONDS = { min: 3600, max: 30 * 24 * 3600 };
export const FILE_LIST_MAX = 10_000;

const expirySeconds = z
  .string()
  .refine(
    (text) => /^\d{1,9}$/.test(text) && Number(text) >= EXPIRY_SECONDS.min && Number(text) <= EXPIRY_SECONDS.max,
    `must be a whole number from ${EXPIRY_SECONDS.min} to ${EXPIRY_SECONDS.max}`,
  )
  .transform(Number)
  .meta({ openapi: { type: "integer", minimum: EXPIRY_SECONDS.min, maximum: EXPIRY_SECONDS.max } });

/** The form fields of an upload. */
export const fileForm = z.looseObject({
  file: formFile,
  purpose: z.enum(PURPOSES, `must be one of ${PURPOSES.join(", ")}`),
  "expires_after[anchor]": z.literal("created_at", "must be created_at").optional(),
  "expires_after[seconds]": expirySeconds.optional(),
});

export const fileObject = z.object({
  id: z.string(),
  object: z.literal("file"),
  bytes: z.int(),
  created_at: z.int(),
  expires_at: z.int().nullable(),
  filename: z.string(),
  purpose: z.string(),
  status: z.enum(["uploaded", "processed", "error"]),
});

/** A file as clients see it and as it is stored. */
export type FileObject = z.output<typeof fileObject>;

const once = z.string("must be given once").optional();

/** Any text passes the schema: a value out of range is a 400. */
export const fileListQuery = z.object({
  purpose: once,
  limit: once.meta({ openapi: { type: "integer", minimum: 1, maximum: FILE_LIST_MAX, default: FILE_LIST_MAX } }),
  order: once.meta({ openapi: { type: "string", enum: ["asc", "desc"], default: "desc" } }),
  after: once,
});

export const fileList = z.object({
  object: z.literal("list"),
  data: z.array(fileObject),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
});

export const deletedFile = z.object({ id: z.string(), object: z.literal("file"), deleted: z.literal(true) });
