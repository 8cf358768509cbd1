import { z } from "zod";
import { AppError } from "../../../common/errors.ts";
import { parseQuery, queryFlag } from "../request-query.ts";

const NAME_LENGTH_MAX = 256;
const FALLBACK_TYPES = ["general", "context_window", "content_policy"] as const;

const optionalText = z.string("must be given once").max(NAME_LENGTH_MAX).optional();
// Any text passes the schema: a wrong value is a 400, not a 422.
const choice = (...values: readonly string[]) => z.unknown().meta({ openapi: { type: "string", enum: values } });

export const modelsQuery = z.object({
  return_wildcard_routes: queryFlag,
  team_id: optionalText,
  include_model_access_groups: queryFlag,
  only_model_access_groups: queryFlag,
  include_metadata: queryFlag,
  fallback_type: choice(...FALLBACK_TYPES).optional(),
  scope: choice("expand").optional(),
});
export const modelInfoQuery = z.object({ gw_model_id: optionalText });
export const modelGroupInfoQuery = z.object({ model_group: optionalText });

export interface ModelsQuery extends Omit<z.output<typeof modelsQuery>, "fallback_type" | "scope"> {
  readonly fallback_type: (typeof FALLBACK_TYPES)[number];
  readonly scope: "expand" | undefined;
}

export function parseModelsQuery(query: unknown): ModelsQuery {
  const { fallback_type: type = "general", scope, ...rest } = parseQuery(modelsQuery, query);
  const known = FALLBACK_TYPES.find((each) => each === type);
  if (known === undefined) throw refuse("fallback_type", `must be one of ${FALLBACK_TYPES.join(", ")}`);
  if (scope !== undefined && scope !== "expand") throw refuse("scope", 'must be "expand"');
  return { ...rest, fallback_type: known, scope };
}

/** A 400 with `param` for the gateway's error format and `details` for the platform's. */
function refuse(param: string, message: string): AppError {
  const details = [{ path: `query.${param}`, message }];
  return new AppError("VALIDATION_ERROR", `Invalid ${param} parameter: it ${message}.`, { param, details });
}

const money = z.number().nullable();
const tokens = z.int().nullable();

export const modelRecord = z.object({
  id: z.string(),
  object: z.literal("model"),
  created: z.int(),
  owned_by: z.string(),
  metadata: z.object({ fallbacks: z.array(z.string()) }).optional(),
});
export const modelInfoRecord = z.object({
  model_name: z.string(),
  litellm_params: z.looseObject({ model: z.string(), api_base: z.string().optional(), custom_llm_provider: z.string() }),
  model_info: z.looseObject({
    id: z.string(),
    db_model: z.boolean(),
    mode: z.string().nullable(),
    max_input_tokens: tokens,
    max_output_tokens: tokens,
    input_cost_per_token: money,
    output_cost_per_token: money,
    supported_openai_params: z.array(z.string()),
    source: z.record(z.string(), z.enum(["config", "catalog", "data"])),
  }),
});
export const modelGroupRecord = z.looseObject({
  model_group: z.string(),
  providers: z.array(z.string()),
  max_input_tokens: tokens,
  max_output_tokens: tokens,
  input_cost_per_token: money,
  output_cost_per_token: money,
  mode: z.string().nullable(),
  tpm: z.int().nullable(),
  rpm: z.int().nullable(),
  supports_parallel_function_calling: z.boolean(),
  supports_vision: z.boolean(),
  supports_function_calling: z.boolean(),
  supported_openai_params: z.array(z.string()),
});
