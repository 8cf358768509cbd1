import { AppError } from "../../../common/errors.ts";
import type { Target } from "./deployment-settings.ts";
import type { Health, HealthReading } from "./health.ts";
import type { ModelGroup } from "./model-names.ts";
import type { RouterSettings, StrategyName } from "./settings.ts";
import type { Candidate } from "./strategies.ts";
import { tableOf } from "./target-table.ts";

export interface CallNeeds {
  readonly tags: readonly string[];
  readonly inputTokens: number;
  readonly maxOutputTokens: number;
}

export type Suitable =
  | { readonly type: "targets"; readonly targets: readonly Target[] }
  | { readonly type: "refused"; readonly error: AppError };

/** Deployments of a group that fit the call whatever their state: by tags, then by context window. */
export function suitable(group: ModelGroup, needs: CallNeeds, settings: RouterSettings): Suitable {
  const tagged = settings.tagFiltering ? withTags(group.targets, needs.tags, settings) : group.targets;
  if (tagged.length === 0) {
    return refused(new AppError("INVALID_REQUEST", `No deployment of ${group.name} has the tags of this request.`, { param: "tags" }));
  }
  const roomy = settings.preCallChecks ? withRoom(tagged, needs) : tagged;
  if (roomy.length > 0) return { type: "targets", targets: roomy };
  const tokens = needs.inputTokens + needs.maxOutputTokens;
  const message = `This request needs ${tokens} tokens of context (${needs.inputTokens} in, ${needs.maxOutputTokens} out); the context window of ${group.name} is smaller.`;
  return refused(new AppError("CONTEXT_LENGTH_EXCEEDED", message, { param: "messages" }));
}

export type Eligible =
  | { readonly type: "candidates"; readonly candidates: readonly Candidate[] }
  | { readonly type: "refused"; readonly error: AppError };

/** The suitable deployments that may be called now. If there is none: until when, and whether load or failures are the reason. */
export function eligible(targets: readonly Target[], { health, settings, strategy, tokens, groupName }: EligibleInput): Eligible {
  const limited = isLimited(settings, strategy);
  const candidates: Candidate[] = [];
  const blocks: Block[] = [];
  for (const target of targets) {
    const reading = health.read(target.deployment.id);
    const block = blockOf(target, reading, { settings, limited, tokens });
    if (block) blocks.push(block);
    else candidates.push({ target, health: reading });
  }
  return candidates.length > 0 ? { type: "candidates", candidates } : refused(blockedError(groupName, blocks));
}

/** Whether one of them may be called now. */
export function isFree(target: Target, { health, settings, strategy, tokens }: Omit<EligibleInput, "groupName">): boolean {
  const limited = isLimited(settings, strategy);
  return blockOf(target, health.read(target.deployment.id), { settings, limited, tokens }) === undefined;
}

function isLimited({ enforceLimits }: RouterSettings, strategy: StrategyName): boolean {
  return enforceLimits || (strategy !== "simple-shuffle" && strategy !== "least-busy");
}

export interface EligibleInput {
  readonly health: Health;
  readonly settings: RouterSettings;
  readonly strategy: StrategyName;
  readonly tokens: number;
  readonly groupName: string;
}

/** The candidates with the lowest `order`. */
export function firstInOrder(candidates: readonly Candidate[]): readonly Candidate[] {
  const lowest = Math.min(...candidates.map(({ target }) => target.settings.order));
  return candidates.filter(({ target }) => target.settings.order === lowest);
}

function refused(error: AppError): { readonly type: "refused"; readonly error: AppError } {
  return { type: "refused", error };
}

/** A request's tags select deployments with any (or all) of them; otherwise, and without tags, those tagged "default". */
function withTags(targets: readonly Target[], tags: readonly string[], { tagMatchAny }: RouterSettings): readonly Target[] {
  const defaults = targets.filter(({ settings }) => settings.tags.includes("default"));
  if (tags.length === 0) return defaults.length > 0 ? defaults : targets;
  const matching = targets.filter(({ settings }) => {
    const has = (tag: string) => settings.tags.includes(tag);
    return tagMatchAny ? tags.some(has) : tags.every(has);
  });
  return matching.length > 0 ? matching : defaults;
}

function withRoom(targets: readonly Target[], needs: CallNeeds): readonly Target[] {
  const { contextWindowMin, inputTokensMin } = tableOf(targets);
  const { inputTokens, maxOutputTokens } = needs;
  if (inputTokens <= inputTokensMin && inputTokens + maxOutputTokens <= contextWindowMin) return targets;
  return targets.filter((target) => hasRoom(target, needs));
}

function hasRoom({ settings }: Target, { inputTokens, maxOutputTokens }: CallNeeds): boolean {
  const { contextWindow, maxInputTokens } = settings;
  if (maxInputTokens !== undefined && inputTokens > maxInputTokens) return false;
  return contextWindow === undefined || inputTokens + maxOutputTokens <= contextWindow;
}

interface Block {
  readonly waitMs: number;
  readonly cause: "rate-limit" | "failure";
}

/** An estimate: it is not known when a slot becomes free. */
const BUSY_MS = 1000;

function blockOf(
  { settings: own }: Target,
  health: HealthReading,
  { settings, limited, tokens }: { settings: RouterSettings; limited: boolean; tokens: number },
): Block | undefined {
  const { availability } = health;
  if (availability.state === "open") return availability;
  const maxParallel = own.maxParallel ?? settings.defaultMaxParallel;
  if (maxParallel !== undefined && health.inFlight >= maxParallel) return { waitMs: BUSY_MS, cause: "rate-limit" };
  if (!limited) return undefined;
  const overRequests = own.requestsPerMinute !== undefined && health.requestsThisMinute + 1 > own.requestsPerMinute;
  const overTokens = own.tokensPerMinute !== undefined && health.tokensThisMinute + tokens > own.tokensPerMinute;
  return overRequests || overTokens ? { waitMs: health.minuteLeftMs, cause: "rate-limit" } : undefined;
}

function blockedError(groupName: string, blocks: readonly Block[]): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(Math.min(...blocks.map(({ waitMs }) => waitMs)) / 1000));
  const isLoad = blocks.every(({ cause }) => cause === "rate-limit");
  return isLoad
    ? new AppError("RATE_LIMIT_EXCEEDED", `All deployments of ${groupName} are at their rate limits. Try again later.`, {
        retryAfterSeconds,
      })
    : new AppError("UPSTREAM_UNAVAILABLE", `All deployments of ${groupName} failed recently and are cooling down. Try again later.`, {
        retryAfterSeconds,
      });
}
