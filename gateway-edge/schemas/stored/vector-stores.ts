import { z } from "zod";
import { listQuery } from "../object-list.ts";
import { atMost, metadata, modelName } from "./assistants.ts";

// The limits are those of OpenAI's API, except FILES_MAX.
const NAME_LENGTH_MAX = 256;
const QUERY_LENGTH_MAX = 32_768;
const QUERIES_MAX = 16;
const RESULTS_MAX = 50;
const ATTRIBUTES_MAX = 16;
const BATCH_FILES_MAX = 500;
const [CHUNK_TOKENS_MIN, CHUNK_TOKENS_MAX] = [100, 4096];

const id = z.string().min(1).max(128);
const fileIds = z.array(id).max(BATCH_FILES_MAX, `must have at most ${BATCH_FILES_MAX} files`);

export const attributes = z
  .record(atMost(64), z.union([atMost(512), z.number(), z.boolean()], "must be a string, a number or a boolean"))
  .refine((pairs) => Object.keys(pairs).length <= ATTRIBUTES_MAX, `must have at most ${ATTRIBUTES_MAX} keys`);
export type Attributes = z.output<typeof attributes>;

const staticStrategy = z
  .object({
    max_chunk_size_tokens: z.int().min(CHUNK_TOKENS_MIN).max(CHUNK_TOKENS_MAX),
    chunk_overlap_tokens: z.int().min(0),
  })
  .refine(
    ({ max_chunk_size_tokens: size, chunk_overlap_tokens: overlap }) => overlap * 2 <= size,
    "chunk_overlap_tokens must be at most half of max_chunk_size_tokens",
  );
const chunkingStrategy = z.discriminatedUnion(
  "type",
  [z.object({ type: z.literal("auto") }), z.object({ type: z.literal("static"), static: staticStrategy })],
  { error: () => "type must be auto or static" },
);

const expiresAfter = z.object({ anchor: z.literal("last_active_at", "must be last_active_at"), days: z.int().min(1).max(365) });

const storeFields = { name: atMost(NAME_LENGTH_MAX).nullish(), expires_after: expiresAfter.nullish(), metadata: metadata.nullish() };

/** `embedding_model` is an addition of this gateway: the model that makes the vectors. */
export const newVectorStore = z.object({
  ...storeFields,
  description: atMost(512).nullish(),
  file_ids: fileIds.nullish(),
  chunking_strategy: chunkingStrategy.nullish(),
  embedding_model: modelName.nullish(),
});
export const vectorStoreChange = z.object(storeFields);

export const newStoreFile = z.object({ file_id: id, attributes: attributes.nullish(), chunking_strategy: chunkingStrategy.nullish() });
export const storeFileChange = z.object({ attributes: attributes.nullable() });
export const newFileBatch = z
  .object({
    file_ids: fileIds.nullish(),
    files: z.array(newStoreFile).max(BATCH_FILES_MAX).nullish(),
    attributes: attributes.nullish(),
    chunking_strategy: chunkingStrategy.nullish(),
  })
  .refine(({ file_ids: ids, files }) => (ids?.length ?? 0) > 0 !== (files?.length ?? 0) > 0, "give either file_ids or files");
export type NewStoreFile = z.output<typeof newStoreFile>;

const COMPARISONS = ["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin"] as const;
const plainValue = z.union([z.string(), z.number(), z.boolean()]);
const comparison = z.object({ type: z.enum(COMPARISONS), key: z.string(), value: z.union([plainValue, z.array(plainValue).max(100)]) });
export type Filter = z.output<typeof comparison> | { readonly type: "and" | "or"; readonly filters: readonly Filter[] };

/** Deeper filters are refused: each level is a function call. */
const FILTER_DEPTH_MAX = 4;
const filterAt = (depth: number): z.ZodType<Filter> =>
  depth === 0
    ? comparison
    : z.union(
        [
          comparison,
          z.object({
            type: z.enum(["and", "or"]),
            filters: z
              .array(filterAt(depth - 1))
              .min(1)
              .max(32),
          }),
        ],
        {
          error: () => `must be a comparison (${COMPARISONS.join(", ")}) or a combination (and, or) of at most ${FILTER_DEPTH_MAX} levels`,
        },
      );

const queryText = atMost(QUERY_LENGTH_MAX).min(1, "must not be empty");
export const storeSearch = z.object({
  query: z.union([queryText, z.array(queryText).min(1).max(QUERIES_MAX)]),
  filters: filterAt(FILTER_DEPTH_MAX).nullish(),
  max_num_results: z.int().min(1).max(RESULTS_MAX).nullish(),
  ranking_options: z.looseObject({ ranker: z.string().nullish(), score_threshold: z.number().min(0).max(1).nullish() }).nullish(),
  rewrite_query: z.boolean().nullish(),
});

const counts = z.object({ in_progress: z.int(), completed: z.int(), failed: z.int(), cancelled: z.int(), total: z.int() });
export type FileCounts = z.output<typeof counts>;

export const vectorStoreObject = z.object({
  id: z.string(),
  object: z.literal("vector_store"),
  created_at: z.int(),
  name: z.string().nullable(),
  description: z.string().nullable(),
  usage_bytes: z.int(),
  file_counts: counts,
  status: z.enum(["expired", "in_progress", "completed"]),
  expires_after: expiresAfter.nullable(),
  expires_at: z.int().nullable(),
  last_active_at: z.int(),
  metadata,
  embedding_model: z.string(),
});
export type VectorStoreObject = z.output<typeof vectorStoreObject>;

export const storeFileObject = z.object({
  id: z.string(),
  object: z.literal("vector_store.file"),
  created_at: z.int(),
  vector_store_id: z.string(),
  usage_bytes: z.int(),
  status: z.enum(["in_progress", "completed", "failed", "cancelled"]),
  last_error: z.object({ code: z.enum(["server_error", "unsupported_file", "invalid_file"]), message: z.string() }).nullable(),
  chunking_strategy: z.object({
    type: z.literal("static"),
    static: z.object({ max_chunk_size_tokens: z.int(), chunk_overlap_tokens: z.int() }),
  }),
  attributes,
});
export type StoreFileObject = z.output<typeof storeFileObject>;

export const fileBatchObject = z.object({
  id: z.string(),
  object: z.literal("vector_store.files_batch"),
  created_at: z.int(),
  vector_store_id: z.string(),
  status: z.enum(["in_progress", "completed", "failed", "cancelled"]),
  file_counts: counts,
});

const foundText = z.object({ type: z.literal("text"), text: z.string() });
export const searchAnswer = z.object({
  object: z.literal("vector_store.search_results.page"),
  search_query: z.array(z.string()),
  data: z.array(z.object({ file_id: z.string(), filename: z.string(), score: z.number(), attributes, content: z.array(foundText) })),
  has_more: z.boolean(),
  next_page: z.string().nullable(),
});
export type SearchAnswer = z.output<typeof searchAnswer>;

export const storeFileContent = z.object({
  object: z.literal("vector_store.file_content.page"),
  data: z.array(foundText),
  has_more: z.boolean(),
  next_page: z.string().nullable(),
});

const FILE_STATES = ["in_progress", "completed", "failed", "cancelled"] as const;
export const storeFileQuery = listQuery.extend({ filter: z.enum(FILE_STATES, `must be one of ${FILE_STATES.join(", ")}`).optional() });
