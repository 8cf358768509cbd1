import { Buckets } from "../../common/metrics/buckets.ts";
import type { Deployment } from "../../proto/gen/tributary/access/v1/access.ts";
import type { TokenUsage, UsageLog } from "../../proto/gen/tributary/usage/v1/usage.ts";

/** Counts of the calls of one model group at one provider: plain numbers, so that a call adds to them and builds nothing. */
export interface CallSlot {
  readonly model: string;
  readonly provider: string;
  readonly calls: Record<CallStatus, number>;
  readonly tokens: { input: number; cached: number; output: number };
  costNano: number;
  readonly firstToken: Buckets;
  readonly latency: Buckets;
  /** Failed attempts by the status of the provider, in the order of `UPSTREAM_STATUSES`. */
  readonly upstreamErrors: number[];
}

export type CallStatus = "success" | "error" | "cancelled" | "refused";

/** What an upstream answered to a failed attempt; `none`: no answer, or one that broke off. */
export const UPSTREAM_STATUSES = ["none", "400", "401", "403", "404", "429", "500", "502", "503", "other"] as const;

/** Pairs of model group and provider that get series of their own. Each has some forty series, and a process should have less than 2,000. */
const NAMED_MAX = 24;
/** Providers that are distinguished beyond that, for all other model groups together. */
const PROVIDERS_MAX = 6;
const OTHER = "other";

const FIRST_TOKEN_BUCKETS_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];
const LATENCY_BUCKETS_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300];

/**
 * Counts calls when they are settled. Names of models that callers send are no labels: a call counts for the configured group of the
 * deployment that answered, or was asked last. Deployments of single organizations count as one group.
 */
export class CallCounts {
  readonly #slots: CallSlot[] = [];
  #deployments: ReadonlyMap<string, Deployment> = new Map();
  #byDeployment = new Map<string, CallSlot>();
  /** Calls that reached no deployment. */
  readonly #none = this.#newSlot("none", "none");

  get slots(): readonly CallSlot[] {
    return this.#slots;
  }

  update(deployments: readonly Deployment[]): void {
    this.#deployments = new Map(deployments.map((deployment) => [deployment.id, deployment]));
    this.#byDeployment = new Map();
  }

  count(log: UsageLog): void {
    const slot = this.#slotOf(log.deploymentId || log.attemptsDetail.at(-1)?.deploymentId);
    // A row may stand for many refusals.
    slot.calls[log.status as CallStatus] += log.refused === undefined ? 1 : Number(log.refused);
    slot.costNano += Number(log.cost);
    if (log.usage) addTokens(slot.tokens, log.usage);
    if (log.status !== "success") return;
    slot.latency.observe(log.latencyMs / 1000);
    // A whole answer has no first token of its own.
    if (log.stream && log.firstTokenMs !== undefined) slot.firstToken.observe(log.firstTokenMs / 1000);
  }

  /** An attempt failed at its provider; not one that its client or this edge ended. */
  countFailed(deploymentId: string, upstreamStatus: number | undefined): void {
    const { upstreamErrors } = this.#slotOf(deploymentId);
    const place = statusPlace(upstreamStatus);
    upstreamErrors[place] = (upstreamErrors[place] ?? 0) + 1;
  }

  #slotOf(deploymentId: string | undefined): CallSlot {
    if (deploymentId === undefined) return this.#none;
    const known = this.#byDeployment.get(deploymentId);
    if (known) return known;
    const slot = this.#find(this.#deployments.get(deploymentId));
    this.#byDeployment.set(deploymentId, slot);
    return slot;
  }

  /** Once for each deployment after a change of the catalog. */
  #find(deployment: Deployment | undefined): CallSlot {
    if (!deployment) return this.#none;
    const provider = deployment.model?.providerName || deployment.providerKind;
    const model = deployment.organizationIds.length > 0 ? "organization" : deployment.modelName;
    const named = this.#slots.filter((slot) => slot.model !== OTHER);
    return (
      this.#existing(model, provider) ??
      (named.length <= NAMED_MAX ? this.#newSlot(model, provider) : undefined) ??
      this.#existing(OTHER, provider) ??
      (this.#slots.length - named.length < PROVIDERS_MAX ? this.#newSlot(OTHER, provider) : undefined) ??
      this.#existing(OTHER, OTHER) ??
      this.#newSlot(OTHER, OTHER)
    );
  }

  #existing(model: string, provider: string): CallSlot | undefined {
    return this.#slots.find((slot) => slot.model === model && slot.provider === provider);
  }

  #newSlot(model: string, provider: string): CallSlot {
    const slot: CallSlot = {
      model,
      provider,
      calls: { success: 0, error: 0, cancelled: 0, refused: 0 },
      tokens: { input: 0, cached: 0, output: 0 },
      costNano: 0,
      firstToken: new Buckets(FIRST_TOKEN_BUCKETS_SECONDS),
      latency: new Buckets(LATENCY_BUCKETS_SECONDS),
      upstreamErrors: UPSTREAM_STATUSES.map(() => 0),
    };
    this.#slots.push(slot);
    return slot;
  }
}

function addTokens(tokens: CallSlot["tokens"], { cachedInput, output, reasoning, audioOutput, total }: TokenUsage): void {
  const [cached, produced] = [Number(cachedInput), Number(output) + Number(reasoning) + Number(audioOutput ?? 0n)];
  tokens.cached += cached;
  tokens.output += produced;
  tokens.input += Number(total) - cached - produced;
}

const PLACES: ReadonlyMap<number, number> = new Map(UPSTREAM_STATUSES.map((status, place) => [Number(status), place]));

function statusPlace(status: number | undefined): number {
  return status === undefined ? 0 : (PLACES.get(status) ?? UPSTREAM_STATUSES.length - 1);
}
