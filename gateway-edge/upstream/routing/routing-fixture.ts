import type { Clock } from "../../../common/clock.ts";
import { AppError, type ErrorCode } from "../../../common/errors.ts";
import type { Random } from "../../../common/random.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import { type Attempt, createRouter, type RouteCall, type RouteRun, type Router } from "./route.ts";
import type { OnFailed } from "./route-call.ts";

export interface SimulatedClock extends Clock {
  pass(milliseconds: number): void;
  readonly slept: number[];
}

/** Time passes only by `sleep` and `pass`. */
export function simulatedClock(): SimulatedClock {
  let elapsedMs = 0;
  const slept: number[] = [];
  return {
    now: () => 1_700_000_040_000 + elapsedMs,
    monotonicMs: () => elapsedMs,
    sleep: async (milliseconds, signal) => {
      signal?.throwIfAborted();
      slept.push(milliseconds);
      elapsedMs += milliseconds;
    },
    after: () => () => {},
    pass: (milliseconds) => {
      elapsedMs += milliseconds;
    },
    slept,
  };
}

/** Mulberry32: the same seed, the same stream. */
function seededRandom(seed = 1): Random {
  let state = seed >>> 0;
  const word = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  return { bytes: (count) => Buffer.from(Array.from({ length: count }, () => word() & 255)) };
}

export interface DeploymentInput {
  readonly id: string;
  readonly name?: string;
  readonly model?: string;
  readonly params?: object;
  readonly info?: object;
  readonly contextWindow?: number;
  readonly price?: bigint;
  readonly apiKey?: string;
}

export function deployment({
  id,
  name = "m",
  model = id,
  params = {},
  info = {},
  contextWindow,
  price,
  apiKey,
}: DeploymentInput): Deployment {
  return {
    id,
    modelName: name,
    model: {
      id,
      name,
      providerId: "p",
      providerName: "p",
      type: "chat",
      description: "",
      contextWindow,
      pricing: price === undefined ? undefined : { version: 1, effectiveAt: undefined, unit: "", input: price, output: price },
      capabilities: [],
      supportedParams: [],
      status: "active",
      createdAt: undefined,
      updatedAt: undefined,
      source: "configuration",
      inferenceModelId: model,
    },
    providerKind: "openai",
    inferenceModelId: model,
    apiKey,
    params: JSON.stringify(params),
    info: JSON.stringify(info),
    dbModel: false,
    organizationIds: [],
  };
}

export interface World {
  readonly clock: SimulatedClock;
  readonly router: Router;
  start(call?: Partial<RouteCall>): RouteRun;
}

export function world(
  deployments: readonly DeploymentInput[],
  routerSettings: object = {},
  { seed = 1, clock = simulatedClock(), onFailed }: { seed?: number; clock?: SimulatedClock; onFailed?: OnFailed } = {},
): World {
  const router = createRouter({ clock, random: seededRandom(seed), ...(onFailed && { onFailed }) });
  router.update(deployments.map(deployment), settingsJson(routerSettings));
  return { clock, router, start: (call) => router.start(routeCall(call)) };
}

export function settingsJson(routerSettings: object, litellmSettings: object = {}): string {
  return JSON.stringify({ router_settings: routerSettings, litellm_settings: litellmSettings });
}

export function routeCall(call: Partial<RouteCall> = {}): RouteCall {
  return {
    model: "m",
    callId: "call-1",
    keyId: "key-1",
    stream: false,
    tags: [],
    inputTokens: 10,
    maxOutputTokens: 10,
    mayUse: () => true,
    ...call,
  };
}

export function failure(code: ErrorCode = "UPSTREAM_UNAVAILABLE", retryAfterSeconds?: number): AppError {
  return new AppError(code, code, { retryAfterSeconds });
}

export type Outcome = AppError | { readonly latencyMs: number } | "cancelled";

/** Runs a call to its end; `answer` decides the outcome of each attempt. Returns the ids of the tried deployments, in order. */
export async function runCall(run: RouteRun, answer: (attempt: Attempt) => Outcome, upstreamStatus?: number): Promise<string[]> {
  const asked: string[] = [];
  for (let attempt = await run.next(); attempt; attempt = await run.next()) {
    asked.push(attempt.deployment.id);
    settle(run, attempt, answer(attempt), upstreamStatus);
  }
  return asked;
}

export function settle(run: RouteRun, attempt: Attempt, outcome: Outcome, upstreamStatus?: number): void {
  if (outcome === "cancelled") run.cancelled(attempt);
  else if (outcome instanceof AppError) run.failed(attempt, outcome, { visible: false, upstreamStatus });
  else run.succeeded(attempt, { ...outcome, tokens: 20, firstTokenMs: outcome.latencyMs });
}

export const fine: Outcome = { latencyMs: 100 };
