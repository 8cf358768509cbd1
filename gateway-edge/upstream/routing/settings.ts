import { z } from "zod";
import type { ErrorClass } from "./error-class.ts";
import { type FallbackMap, readFallbacks, readModelNames } from "./fallback-lists.ts";
import { lenientFields, lenientFlag, lenientNumber, lenientText, lenientTexts, lenientWhole, readFields } from "./lenient.ts";
import type { RetryBudgetSettings } from "./retry-budget.ts";

export const STRATEGIES = ["simple-shuffle", "least-busy", "latency-based-routing", "usage-based-routing", "cost-based-routing"] as const;
export type StrategyName = (typeof STRATEGIES)[number];

/** A number per error class; absent = the general setting applies. */
export type PerClass = Readonly<Partial<Record<ErrorClass, number>>>;

export interface Alias {
  readonly model: string;
  /** Callable, but not in the model list. */
  readonly hidden: boolean;
}

/** The routing settings of a configuration file with every default filled in. */
export interface RouterSettings {
  readonly strategy: StrategyName;
  readonly strategyOfGroup: ReadonlyMap<string, StrategyName>;
  /** How long a latency counts. */
  readonly latencyTauMs: number;
  readonly numRetries: number;
  readonly retryPolicy: PerClass;
  readonly retryPolicyOfGroup: ReadonlyMap<string, PerClass>;
  /** The shortest wait before a retry of the same deployment. */
  readonly retryAfterMs: number;
  readonly retryBudget: RetryBudgetSettings;
  readonly timeoutMs: number;
  /** Until the first token of a stream. */
  readonly streamTimeoutMs: number | undefined;
  readonly connectTimeoutMs: number;
  readonly betweenTokensMs: number;
  readonly streamTotalMs: number;
  /** Set by the operator: then it applies to every failure and every group. Undefined: the rules of circuit.ts. */
  readonly allowedFails: number | undefined;
  readonly allowedFailsPolicy: PerClass;
  readonly cooldownMs: number;
  readonly cooldowns: boolean;
  readonly fallbacks: FallbackMap;
  readonly defaultFallbacks: readonly string[];
  readonly contextWindowFallbacks: FallbackMap;
  readonly contentPolicyFallbacks: FallbackMap;
  readonly maxFallbacks: number;
  readonly aliases: ReadonlyMap<string, Alias>;
  readonly preCallChecks: boolean;
  /** Deployments over their rpm or tpm are skipped. */
  readonly enforceLimits: boolean;
  readonly tagFiltering: boolean;
  readonly tagMatchAny: boolean;
  readonly promptAffinity: boolean;
  readonly deploymentAffinity: boolean;
  readonly deploymentAffinityMs: number;
  readonly defaultMaxParallel: number | undefined;
  readonly dropParams: boolean;
}

/** The most retries that a configuration can set. */
export const RETRIES_MAX = 20;
const FALLBACKS_MAX = 20;

const routerSchema = z.object({
  routing_strategy: lenientText,
  routing_strategy_args: lenientFields,
  routing_groups: z.array(z.unknown()).optional().catch(undefined),
  num_retries: lenientWhole,
  retry_policy: lenientFields,
  model_group_retry_policy: lenientFields,
  retry_after: lenientNumber,
  // Not in LiteLLM: false, or {percent, floor_per_second}.
  retry_budget: z
    .union([z.boolean(), z.object({ percent: lenientNumber, floor_per_second: lenientNumber })])
    .optional()
    .catch(undefined),
  timeout: lenientNumber,
  stream_timeout: lenientNumber,
  // Not in LiteLLM.
  connect_timeout: lenientNumber,
  stream_idle_timeout: lenientNumber,
  stream_total_timeout: lenientNumber,
  allowed_fails: lenientWhole,
  allowed_fails_policy: lenientFields,
  cooldown_time: lenientNumber,
  disable_cooldowns: lenientFlag,
  fallbacks: z.unknown().optional(),
  default_fallbacks: z.unknown().optional(),
  context_window_fallbacks: z.unknown().optional(),
  content_policy_fallbacks: z.unknown().optional(),
  max_fallbacks: lenientWhole,
  model_group_alias: lenientFields,
  enable_pre_call_checks: lenientFlag,
  optional_pre_call_checks: lenientTexts,
  enable_tag_filtering: lenientFlag,
  tag_filtering_match_any: lenientFlag,
  deployment_affinity_ttl_seconds: lenientNumber,
  default_max_parallel_requests: lenientWhole,
});

const litellmSchema = z.object({
  num_retries: lenientWhole,
  request_timeout: lenientNumber,
  allowed_fails: lenientWhole,
  fallbacks: z.unknown().optional(),
  default_fallbacks: z.unknown().optional(),
  context_window_fallbacks: z.unknown().optional(),
  content_policy_fallbacks: z.unknown().optional(),
  model_alias_map: lenientFields,
  drop_params: lenientFlag,
});

const groupSchema = z.object({ models: z.array(z.string()), routing_strategy: z.string() });

/** From the settings JSON of a catalog view; router_settings override litellm_settings. */
export function compileSettings(json: string): RouterSettings {
  const file = readFields(json);
  const router = routerSchema.parse(lenientFields.parse(file["router_settings"]) ?? {});
  const litellm = litellmSchema.parse(lenientFields.parse(file["litellm_settings"]) ?? {});
  const general = readFallbacks(router.fallbacks ?? litellm.fallbacks);
  return {
    ...readChecks(router),
    strategy: strategyNamed(router.routing_strategy),
    strategyOfGroup: strategiesOfGroups(router.routing_groups),
    latencyTauMs: seconds(lenientNumber.parse(router.routing_strategy_args?.["tau"]), 10),
    numRetries: Math.min(router.num_retries ?? litellm.num_retries ?? 2, RETRIES_MAX),
    retryPolicy: perClass(router.retry_policy, "Retries"),
    retryPolicyOfGroup: mapValues(router.model_group_retry_policy, (policy) => perClass(lenientFields.parse(policy), "Retries")),
    retryAfterMs: seconds(router.retry_after, 0),
    retryBudget: retryBudget(router.retry_budget),
    timeoutMs: seconds(router.timeout ?? litellm.request_timeout, 600),
    streamTimeoutMs: router.stream_timeout === undefined ? undefined : router.stream_timeout * 1000,
    connectTimeoutMs: seconds(router.connect_timeout, 10),
    betweenTokensMs: seconds(router.stream_idle_timeout, 120),
    streamTotalMs: seconds(router.stream_total_timeout, 1800),
    allowedFails: router.allowed_fails ?? litellm.allowed_fails,
    allowedFailsPolicy: perClass(router.allowed_fails_policy, "AllowedFails"),
    cooldownMs: seconds(router.cooldown_time, 5),
    cooldowns: router.disable_cooldowns !== true,
    fallbacks: general,
    defaultFallbacks: [...(general.get("*") ?? []), ...readModelNames(router.default_fallbacks ?? litellm.default_fallbacks)],
    contextWindowFallbacks: readFallbacks(router.context_window_fallbacks ?? litellm.context_window_fallbacks),
    contentPolicyFallbacks: readFallbacks(router.content_policy_fallbacks ?? litellm.content_policy_fallbacks),
    maxFallbacks: Math.min(router.max_fallbacks ?? 5, FALLBACKS_MAX),
    aliases: new Map([...readAliases(litellm.model_alias_map), ...readAliases(router.model_group_alias)]),
    defaultMaxParallel: router.default_max_parallel_requests,
    dropParams: litellm.drop_params ?? false,
  };
}

function readChecks(router: z.infer<typeof routerSchema>) {
  const optional = new Set(router.optional_pre_call_checks);
  const preCallChecks = router.enable_pre_call_checks ?? false;
  return {
    preCallChecks,
    enforceLimits: preCallChecks || optional.has("enforce_model_rate_limits"),
    tagFiltering: router.enable_tag_filtering ?? false,
    tagMatchAny: router.tag_filtering_match_any ?? true,
    promptAffinity: optional.has("prompt_caching"),
    deploymentAffinity: optional.has("deployment_affinity"),
    deploymentAffinityMs: seconds(router.deployment_affinity_ttl_seconds, 3600),
  };
}

function strategyNamed(name: string | undefined): StrategyName {
  // Both versions of usage-based routing are the second here.
  const wanted = name === "usage-based-routing-v2" ? "usage-based-routing" : name;
  return STRATEGIES.find((strategy) => strategy === wanted) ?? "simple-shuffle";
}

function strategiesOfGroups(groups: readonly unknown[] | undefined): Map<string, StrategyName> {
  const strategies = new Map<string, StrategyName>();
  for (const group of groups ?? []) {
    const read = groupSchema.safeParse(group);
    for (const model of read.data?.models ?? []) strategies.set(model, strategyNamed(read.data?.routing_strategy));
  }
  return strategies;
}

const CLASS_NAMES: Readonly<Record<string, ErrorClass>> = {
  BadRequestError: "bad-request",
  AuthenticationError: "authentication",
  TimeoutError: "timeout",
  RateLimitError: "rate-limit",
  ContentPolicyViolationError: "content-policy",
  InternalServerError: "unavailable",
};

function perClass(policy: Readonly<Record<string, unknown>> | undefined, suffix: "Retries" | "AllowedFails"): PerClass {
  const numbers: Partial<Record<ErrorClass, number>> = {};
  for (const [name, kind] of Object.entries(CLASS_NAMES)) {
    const value = lenientWhole.parse(policy?.[`${name}${suffix}`] ?? undefined);
    if (value !== undefined) numbers[kind] = Math.min(value, suffix === "Retries" ? RETRIES_MAX : Number.MAX_SAFE_INTEGER);
  }
  return numbers;
}

function retryBudget(value: z.infer<typeof routerSchema>["retry_budget"]): RetryBudgetSettings {
  const own = typeof value === "object" ? value : {};
  return { enabled: value !== false, share: (own.percent ?? 10) / 100, floorPerSecond: own.floor_per_second ?? 10 };
}

function readAliases(aliases: Readonly<Record<string, unknown>> | undefined): Map<string, Alias> {
  const read = new Map<string, Alias>();
  for (const [name, value] of Object.entries(aliases ?? {})) {
    const fields = lenientFields.parse(value);
    const model = lenientText.parse(fields === undefined ? value : fields["model"]);
    if (model !== undefined) read.set(name, { model, hidden: lenientFlag.parse(fields?.["hidden"]) ?? false });
  }
  return read;
}

function mapValues<Value>(fields: Readonly<Record<string, unknown>> | undefined, read: (value: unknown) => Value): Map<string, Value> {
  return new Map(Object.entries(fields ?? {}).map(([name, value]) => [name, read(value)]));
}

function seconds(value: number | undefined, fallback: number): number {
  return (value ?? fallback) * 1000;
}
