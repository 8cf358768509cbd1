import { GUARDRAIL_KINDS } from "../../../../common/guardrails/kinds.ts";
import type {
  GetCacheSettingsResponse,
  Guardrail,
  ListRoutingResponse,
  Routing as StoredGroup,
} from "../../../../proto/gen/tributary/gateway/v1/gateway.ts";
import type { SemanticSettings } from "../../../calls/cache/semantic/semantic-settings.ts";
import type { Layers } from "../../../calls/layers/layers.ts";
import type { ConfiguredCache } from "../../../schemas/platform/cache.ts";
import type { CacheAnswer, GuardrailsAnswer, RoutingAnswer } from "../../../schemas/platform/gateway-state.ts";
import type { GuardrailRecord } from "../../../schemas/platform/guardrails.ts";
import type { Target } from "../../../upstream/routing/deployment-settings.ts";
import { fallbacksFor } from "../../../upstream/routing/fallback-plan.ts";
import type { DeploymentHealth } from "../../../upstream/routing/health.ts";
import type { Router } from "../../../upstream/routing/route.ts";
import { STRATEGIES } from "../../../upstream/routing/settings.ts";

type RoutingGroup = RoutingAnswer["data"][number];
type RoutingDeployment = RoutingGroup["deployments"][number];

export function presentRouting(
  routing: Pick<Router, "targets" | "settings" | "stateOf">,
  { groups: configured, file }: ListRoutingResponse,
): Omit<RoutingAnswer, "edge"> {
  const stored = new Map(configured.map((group) => [group.model, group]));
  const settings = routing.settings();
  const { strategy, numRetries, timeoutMs, cooldowns, cooldownMs, maxFallbacks, defaultFallbacks, aliases, strategyOfGroup } = settings;
  const named = Map.groupBy(routing.targets(), (target) => target.settings.teamModelName ?? target.deployment.modelName);
  const groups = [...named].map(
    ([name, targets]): RoutingGroup => ({
      name,
      strategy: strategyOfGroup.get(name) ?? strategy,
      deployments: targets.map((target) => presentTarget(target, routing.stateOf(target.deployment.id))),
      fallbacks: {
        general: [...fallbacksFor("general", [name], settings)],
        contextWindow: [...fallbacksFor("context_window", [name], settings)],
        contentPolicy: [...fallbacksFor("content_policy", [name], settings)],
      },
      ...presentStored(stored.get(name)),
    }),
  );
  return {
    settings: { strategy, numRetries, timeoutMs, cooldowns, cooldownMs, maxFallbacks, defaultFallbacks: [...defaultFallbacks] },
    file: file ?? null,
    strategies: [...STRATEGIES],
    data: groups.sort((left, right) => (left.name < right.name ? -1 : 1)),
    aliases: [...aliases].map(([name, { model, hidden }]) => ({ name, model, hidden })),
  };
}

function presentTarget({ deployment, settings }: Target, health: DeploymentHealth | undefined): RoutingDeployment {
  return {
    id: deployment.id,
    providerKind: deployment.providerKind,
    provider: deployment.model?.providerName ?? deployment.providerKind,
    providerId: deployment.model?.providerId ?? "",
    source: (deployment.model?.source as RoutingDeployment["source"] | undefined) ?? "catalog",
    inferenceModelId: deployment.inferenceModelId,
    weight: settings.weight ?? null,
    order: Number.isFinite(settings.order) ? settings.order : null,
    requestsPerMinute: settings.requestsPerMinute ?? null,
    tokensPerMinute: settings.tokensPerMinute ?? null,
    maxParallel: settings.maxParallel ?? null,
    tags: [...settings.tags],
    teamId: settings.teamId ?? null,
    organizationIds: [...deployment.organizationIds],
    health: presentHealth(health),
  };
}

/** A guardrail as it is configured. */
export function presentGuardrail({ name, kind, stage, byDefault, enabled, settings, source, file }: Guardrail): GuardrailRecord {
  return {
    name,
    kind,
    stage: stage as GuardrailRecord["stage"],
    byDefault,
    enabled,
    settings: JSON.parse(settings) as GuardrailRecord["settings"],
    source: source as GuardrailRecord["source"],
    file: file ?? null,
  };
}

/** What is stored of a model group, and what the file sets of it. */
export function presentStored(group: StoredGroup | undefined): Pick<RoutingGroup, "stored" | "fileFields"> {
  const { strategy, deployments = [], fallbacks, contextWindowFallbacks, contentPolicyFallbacks, fileFields = [] } = group ?? {};
  return {
    stored: {
      strategy: strategy ?? null,
      deployments: deployments.map(({ id, weight, order }) => ({ id, weight: weight ?? null, order: order ?? null })),
      fallbacks: {
        general: fallbacks?.names ?? null,
        contextWindow: contextWindowFallbacks?.names ?? null,
        contentPolicy: contentPolicyFallbacks?.names ?? null,
      },
    },
    fileFields: fileFields.map((field) => FALLBACK_NAMES[field] ?? field),
  };
}

const FALLBACK_NAMES: Readonly<Record<string, string>> = {
  fallbacks: "fallbacks.general",
  contextWindowFallbacks: "fallbacks.contextWindow",
  contentPolicyFallbacks: "fallbacks.contentPolicy",
};

const STATES = { closed: "up", open: "cooling", "half-open": "probing" } as const;

function presentHealth(health: DeploymentHealth | undefined): RoutingDeployment["health"] {
  const availability = health?.availability ?? { state: "closed" };
  const isOpen = availability.state === "open";
  return {
    state: STATES[availability.state],
    coolingMs: isOpen ? Math.ceil(availability.waitMs) : 0,
    coolingCause: isOpen ? availability.cause : null,
    inFlight: health?.inFlight ?? 0,
    requestsThisMinute: health?.requestsThisMinute ?? 0,
    tokensThisMinute: health?.tokensThisMinute ?? 0,
    succeeded: health?.succeeded ?? 0,
    failed: health?.failed ?? 0,
    lastFailure: health?.lastFailure ? { kind: health.lastFailure.kind, at: new Date(health.lastFailure.atMs) } : null,
    firstTokenMs: health?.streamLatency ? health.streamLatency : null,
  };
}

export function presentGuardrails(guardrails: readonly Guardrail[], { findings }: Layers["guardrails"]): Omit<GuardrailsAnswer, "edge"> {
  return {
    data: guardrails.map((guardrail) => {
      const { blocked, masked } = findings.figures[guardrail.name] ?? { blocked: 0, masked: 0 };
      return { ...presentGuardrail(guardrail), blocked, masked };
    }),
    kinds: Object.entries(GUARDRAIL_KINDS).map(([kind, { about, stage, settings }]) => ({
      kind,
      about,
      stage: stage ?? null,
      settings: Object.entries(settings).map(([name, { required = false, choices, ...rest }]) => ({
        name,
        ...rest,
        required,
        choices: choices ? [...choices] : null,
      })),
    })),
    decisions: findings.recent().map(({ atMs, ...finding }) => ({ at: new Date(atMs), ...finding })),
  };
}

export function presentCache(
  { current, figures, bytesMax, semantic }: Layers["cache"],
  configured: ConfiguredCache,
): Omit<CacheAnswer, "edge"> {
  const { settings, cache } = current() ?? {};
  const held = cache?.held?.();
  return {
    settings: settings
      ? {
          type: settings.type,
          ttlSeconds: settings.ttlMs / 1000,
          operations: [...settings.operations],
          byDefault: settings.byDefault,
        }
      : null,
    ...figures,
    held: held ? { ...held, bytesMax } : null,
    semantic: settings?.semantic ? presentSemantic(settings.semantic, semantic) : null,
    configured,
  };
}

/** The cache as it is configured; `environment` is the edge's own choice. */
export function presentConfiguredCache(
  { settings, source, file }: GetCacheSettingsResponse,
  environment: ConfiguredCache["environment"] | undefined,
): ConfiguredCache {
  const { enabled = false, type, ttlSeconds, mode, semanticCache, similarityThreshold, embeddingModel } = settings ?? {};
  return {
    enabled,
    type: type === undefined ? null : type === "redis" ? "redis" : "memory",
    ttlSeconds: ttlSeconds ?? null,
    byDefault: mode === undefined ? null : mode !== "default_off",
    semantic: {
      mode: (semanticCache as ConfiguredCache["semantic"]["mode"] | undefined) ?? "off",
      threshold: similarityThreshold ?? null,
      embeddingModel: embeddingModel ?? null,
    },
    source: source as ConfiguredCache["source"],
    file: file ?? null,
    environment: environment ?? null,
  };
}

function presentSemantic(
  { forAll, threshold, embeddingModel }: SemanticSettings,
  { index, figures, problems }: Layers["cache"]["semantic"],
): NonNullable<CacheAnswer["semantic"]> {
  const { entries: vectors, bytes } = index.held();
  return { forAll, threshold, embeddingModel, problem: problems.get(embeddingModel) ?? null, ...figures, vectors, bytes };
}
