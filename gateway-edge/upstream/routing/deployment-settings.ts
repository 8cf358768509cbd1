import { z } from "zod";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import { lenientNumber, lenientText, lenientTexts, lenientWhole, readFields } from "./lenient.ts";

/** What routing knows of a deployment beside its address: LiteLLM's litellm_params and model_info, read once. Absent = not set. */
export interface DeploymentSettings {
  readonly weight: number | undefined;
  /** The part of a traffic split that it belongs to: each part gets the share of calls that is its weight, whatever the strategy. */
  readonly split: string | undefined;
  /** Lower numbers are used first. */
  readonly order: number;
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerMinute: number | undefined;
  readonly maxParallel: number | undefined;
  readonly tags: readonly string[];
  readonly timeoutMs: number | undefined;
  readonly streamTimeoutMs: number | undefined;
  readonly numRetries: number | undefined;
  readonly cooldownMs: number | undefined;
  readonly accessGroups: readonly string[];
  /** Only this team sees and uses it, under `teamModelName` if that is set. */
  readonly teamId: string | undefined;
  readonly teamModelName: string | undefined;
  readonly mode: string | undefined;
  readonly baseModel: string | undefined;
  /** Input and output together. */
  readonly contextWindow: number | undefined;
  readonly maxInputTokens: number | undefined;
  /** It lists parameters of the provider that clients may give; which ones, client-params.ts reads. */
  readonly takesClientParams: boolean;
}

/** A deployment with its settings, as the files of routing pass it to each other. */
export interface Target {
  readonly deployment: Deployment;
  readonly settings: DeploymentSettings;
  /** Made for one request from a wildcard deployment. */
  readonly derived: boolean;
}

export function compileTarget(deployment: Deployment): Target {
  return { deployment, settings: readDeployment(deployment), derived: false };
}

const paramsSchema = z.object({
  weight: lenientNumber,
  split: lenientText,
  order: lenientNumber,
  rpm: lenientNumber,
  tpm: lenientNumber,
  max_parallel_requests: lenientWhole,
  tags: lenientTexts,
  timeout: lenientNumber,
  stream_timeout: lenientNumber,
  num_retries: lenientWhole,
  cooldown_time: lenientNumber,
  configurable_clientside_auth_params: z.array(z.unknown()).optional().catch(undefined),
});

const infoSchema = z.object({
  mode: lenientText,
  base_model: lenientText,
  access_groups: lenientTexts,
  team_id: lenientText,
  team_public_model_name: lenientText,
  max_input_tokens: lenientWhole,
});

function readDeployment(deployment: Deployment): DeploymentSettings {
  const params = paramsSchema.parse(readFields(deployment.params));
  const info = infoSchema.parse(readFields(deployment.info));
  return {
    weight: params.weight,
    split: params.split,
    order: params.order ?? Number.POSITIVE_INFINITY,
    requestsPerMinute: params.rpm,
    tokensPerMinute: params.tpm,
    maxParallel: params.max_parallel_requests,
    tags: params.tags ?? [],
    timeoutMs: inMs(params.timeout),
    streamTimeoutMs: inMs(params.stream_timeout),
    numRetries: params.num_retries,
    cooldownMs: inMs(params.cooldown_time),
    accessGroups: info.access_groups ?? [],
    teamId: info.team_id,
    teamModelName: info.team_public_model_name,
    mode: info.mode,
    baseModel: info.base_model,
    contextWindow: deployment.model?.contextWindow,
    maxInputTokens: info.max_input_tokens,
    takesClientParams: (params.configurable_clientside_auth_params?.length ?? 0) > 0,
  };
}

function inMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}
