import type { Clock } from "../../common/clock.ts";
import type { AppError } from "../../common/errors.ts";
import type { NanoUsd } from "../../common/money.ts";
import type { Caller } from "../../proto/gen/tributary/access/v1/access.ts";
import type { UsageLog } from "../../proto/gen/tributary/usage/v1/usage.ts";
import type { ReportedUsage, StreamPart } from "../providers/provider.ts";
import type { Chosen } from "./choose-deployment.ts";
import { cost, type Prices } from "./price.ts";
import { disjointUsage, NO_USAGE, totalTokens, type Usage } from "./usage.ts";

export interface Metered {
  readonly callId: string;
  readonly endpoint: string;
  readonly caller: Caller;
  readonly model: string;
  readonly stream: boolean;
  readonly endUser: string | undefined;
  readonly tags: readonly string[];
  readonly chosen: Chosen;
  readonly prices: Prices;
  readonly priceVersion: number;
  readonly inputTokens: number;
}

export type Outcome =
  | { readonly status: "success" }
  | { readonly status: "cancelled" }
  | { readonly status: "error"; readonly error: AppError; readonly httpStatus: number };

export interface Bill {
  readonly usage: Usage;
  readonly cost: NanoUsd;
}

/** Watches one call: what was delivered, what it costs, where its time went. */
export interface Meter {
  /** Counts the time of something that is not our own work: the upstream, or a client that reads slowly. */
  outside<T>(waiting: Promise<T>): Promise<T>;
  waited(milliseconds: number): void;
  delivered(part: StreamPart): void;
  reported(usage: ReportedUsage | undefined): void;
  /** What the call costs if it ends now: by the provider's word, or by our own count of what was delivered. */
  bill(): Bill;
  log(outcome: Outcome): UsageLog;
  overheadMs(): number;
}

/** The status that logs show for a client that left; it never goes over a wire. */
const CLIENT_LEFT_STATUS = 499;

export function createMeter(call: Metered, clock: Clock): Meter {
  const createdAt = new Date(clock.now());
  const startedMs = clock.monotonicMs();
  const texts = new Map<number, string>();
  let outsideMs = 0;
  let firstTokenMs: number | undefined;
  let usageReported: ReportedUsage | undefined;

  const elapsedMs = () => clock.monotonicMs() - startedMs;
  const overheadMs = () => Math.max(0, elapsedMs() - outsideMs);

  async function outside<T>(waiting: Promise<T>): Promise<T> {
    const sinceMs = clock.monotonicMs();
    try {
      return await waiting;
    } finally {
      outsideMs += clock.monotonicMs() - sinceMs;
    }
  }

  function delivered(part: StreamPart): void {
    if (part.type !== "text-delta" && part.type !== "other-delta") return;
    firstTokenMs ??= elapsedMs();
    texts.set(part.choice, (texts.get(part.choice) ?? "") + part.text);
  }

  function usage(): Usage {
    if (usageReported) return disjointUsage(usageReported);
    if (texts.size === 0) return NO_USAGE;
    const output = [...texts.values()].reduce((sum, text) => sum + call.chosen.provider.countOutput(text), 0);
    return { ...NO_USAGE, input: call.inputTokens, output };
  }

  function bill(): Bill {
    const used = usage();
    return { usage: used, cost: cost(used, call.prices) };
  }

  function log(outcome: Outcome): UsageLog {
    const { usage: used, cost: charged } = bill();
    return {
      ...identityOf(call),
      createdAt,
      completedAt: new Date(clock.now()),
      status: outcome.status,
      httpStatus: outcome.status === "error" ? outcome.httpStatus : outcome.status === "cancelled" ? CLIENT_LEFT_STATUS : 200,
      errorCode: outcome.status === "error" ? outcome.error.code : undefined,
      usage: toWireUsage(used),
      cost: charged,
      priceVersion: call.priceVersion,
      cacheHit: false,
      attempts: 1,
      latencyMs: Math.round(elapsedMs()),
      firstTokenMs: firstTokenMs === undefined ? undefined : Math.round(firstTokenMs),
      overheadUs: Math.round(overheadMs() * 1000),
      tags: [...call.tags],
    };
  }

  return {
    outside,
    waited: (milliseconds) => {
      outsideMs += milliseconds;
    },
    delivered,
    reported: (report) => {
      usageReported = report ?? usageReported;
    },
    bill,
    log,
    overheadMs,
  };
}

function identityOf({ callId, endpoint, caller, model, stream, endUser, chosen }: Metered) {
  const { deployment } = chosen;
  return {
    callId,
    endpoint,
    organizationId: caller.organizationId,
    teamId: caller.teamId,
    teamName: caller.teamName,
    apiKeyId: caller.keyId,
    apiKeyName: caller.keyName,
    maskedKey: caller.maskedKey,
    userId: caller.userId,
    endUser,
    model,
    deploymentId: deployment.id,
    provider: deployment.model?.providerName ?? deployment.providerKind,
    type: deployment.model?.type ?? "chat",
    stream,
  };
}

function toWireUsage(usage: Usage): NonNullable<UsageLog["usage"]> {
  return {
    input: BigInt(usage.input),
    cachedInput: BigInt(usage.cachedInput),
    cacheWrite: BigInt(usage.cacheWrite),
    output: BigInt(usage.output),
    reasoning: BigInt(usage.reasoning),
    audio: 0n,
    total: BigInt(totalTokens(usage)),
    source: usage.source,
  };
}
