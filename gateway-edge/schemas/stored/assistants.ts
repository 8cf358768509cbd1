import { z } from "zod";

// The limits are those of OpenAI's API.
const NAME_LENGTH_MAX = 256;
const DESCRIPTION_LENGTH_MAX = 512;
export const INSTRUCTIONS_LENGTH_MAX = 256_000;
const TOOLS_MAX = 128;
const METADATA_KEYS_MAX = 16;
const METADATA_KEY_LENGTH_MAX = 64;
const METADATA_VALUE_LENGTH_MAX = 512;
const SEARCH_RESULTS_MAX = 50;

const text = z.string();
export const atMost = (lengthMax: number) => text.max(lengthMax, `must have at most ${lengthMax} characters`);

export const metadata = z
  .record(
    atMost(METADATA_KEY_LENGTH_MAX),
    z.string("must be a string").max(METADATA_VALUE_LENGTH_MAX, `must have at most ${METADATA_VALUE_LENGTH_MAX} characters`),
  )
  .refine((pairs) => Object.keys(pairs).length <= METADATA_KEYS_MAX, `must have at most ${METADATA_KEYS_MAX} keys`);

const fileSearchTool = z.object({
  type: z.literal("file_search"),
  file_search: z
    .object({
      max_num_results: z.int().min(1).max(SEARCH_RESULTS_MAX).nullish(),
      ranking_options: z.object({ ranker: text.max(64).nullish(), score_threshold: z.number().min(0).max(1) }).nullish(),
    })
    .nullish(),
});
const functionTool = z.object({
  type: z.literal("function"),
  function: z.looseObject({
    name: text.regex(/^[a-zA-Z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, underscores or dashes"),
    description: text.nullish(),
    parameters: z.looseObject({}).nullish(),
    strict: z.boolean().nullish(),
  }),
});
const tool = z.discriminatedUnion("type", [functionTool, fileSearchTool, z.object({ type: z.literal("code_interpreter") })], {
  error: () => "type must be one of function, file_search, code_interpreter",
});
export type AssistantTool = z.output<typeof tool>;

export const tools = z.array(tool).max(TOOLS_MAX, `must have at most ${TOOLS_MAX} tools`);

const ids = z.array(text).nullish();
/** The contents are checked separately: unsupported resources are a 400 with a reason. */
export const toolResources = z.object({
  code_interpreter: z.object({ file_ids: ids }).nullish(),
  file_search: z.object({ vector_store_ids: ids, vector_stores: z.array(z.looseObject({})).nullish() }).nullish(),
});
export type ToolResources = z.output<typeof toolResources>;

export const responseFormat = z.union([z.literal("auto"), z.looseObject({ type: z.enum(["text", "json_object", "json_schema"]) })], {
  error: () => 'must be "auto" or an object whose type is text, json_object or json_schema',
});

export const modelName = text.min(1).max(256);

/** Sampling parameters of an assistant, which a run may override. */
export const sampling = {
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  response_format: responseFormat.nullish(),
  reasoning_effort: text.max(32).nullish(),
};

const assistantFields = {
  name: atMost(NAME_LENGTH_MAX).nullish(),
  description: atMost(DESCRIPTION_LENGTH_MAX).nullish(),
  instructions: atMost(INSTRUCTIONS_LENGTH_MAX).nullish(),
  tools: tools.nullish(),
  tool_resources: toolResources.nullish(),
  metadata: metadata.nullish(),
  ...sampling,
};

export const newAssistant = z.object({ model: modelName, ...assistantFields });
export type NewAssistant = z.output<typeof newAssistant>;

/** Absent fields stay; null fields are cleared. */
export const assistantChange = z.object({ model: modelName.nullish(), ...assistantFields });
export type AssistantChange = z.output<typeof assistantChange>;

export const metadataChange = z.object({ metadata: metadata.nullish() });
