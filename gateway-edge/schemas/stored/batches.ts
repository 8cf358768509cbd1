import { z } from "zod";
import { metadata } from "./assistants.ts";

export const BATCH_ENDPOINTS = ["/v1/chat/completions", "/v1/completions", "/v1/embeddings"] as const;
export type BatchEndpoint = (typeof BATCH_ENDPOINTS)[number];

export const newBatch = z.looseObject({
  input_file_id: z.string().min(1).max(128),
  endpoint: z.enum(BATCH_ENDPOINTS, `must be one of ${BATCH_ENDPOINTS.join(", ")}`),
  completion_window: z.literal("24h", "must be 24h"),
  metadata: metadata.nullish(),
  output_expires_after: z.object({ anchor: z.literal("created_at"), seconds: z.int().min(3600).max(2_592_000) }).optional(),
});

const at = z.int().nullable();

const batchError = z.object({ line: z.int().nullable(), code: z.string(), message: z.string(), param: z.string().nullable() });

export const batchObject = z.object({
  id: z.string(),
  object: z.literal("batch"),
  endpoint: z.enum(BATCH_ENDPOINTS),
  errors: z.object({ object: z.literal("list"), data: z.array(batchError) }).nullable(),
  input_file_id: z.string(),
  completion_window: z.string(),
  status: z.enum(["validating", "failed", "in_progress", "finalizing", "completed", "expired", "cancelling", "cancelled"]),
  output_file_id: z.string().nullable(),
  error_file_id: z.string().nullable(),
  created_at: z.int(),
  in_progress_at: at,
  expires_at: at,
  finalizing_at: at,
  completed_at: at,
  failed_at: at,
  expired_at: at,
  cancelling_at: at,
  cancelled_at: at,
  request_counts: z.object({ total: z.int(), completed: z.int(), failed: z.int() }),
  metadata: metadata.nullable(),
});

export type BatchObject = z.output<typeof batchObject>;
export type BatchError = z.output<typeof batchError>;

export const batchList = z.object({
  object: z.literal("list"),
  data: z.array(batchObject),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
});
