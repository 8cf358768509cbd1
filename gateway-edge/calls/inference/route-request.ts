import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { ClientParams } from "../../upstream/client-params.ts";
import type { RouteCall } from "../../upstream/routing/route.ts";
import { type Job, offerOf, providerFor } from "./job.ts";
import { mayUseModel } from "./model-access.ts";
import type { CallPlan, OutputRouting, PlanDeps } from "./plan-call.ts";

export interface CallRouting extends OutputRouting {
  readonly fallbacks: readonly string[];
  readonly contextWindowFallbacks: Readonly<Record<string, string>>;
  readonly numRetries: number | undefined;
  readonly timeoutMs: number | undefined;
  readonly streamTimeoutMs: number | undefined;
  readonly disableFallbacks: boolean;
  /** What the client gives of the provider, where deployments take it. */
  readonly client?: ClientParams | undefined;
}

/** Of a call that has no routing fields. */
export const NO_ROUTING: CallRouting = {
  fallbacks: [],
  contextWindowFallbacks: {},
  numRetries: undefined,
  timeoutMs: undefined,
  streamTimeoutMs: undefined,
  disableFallbacks: false,
  dropParams: undefined,
};

interface RoutedCall {
  readonly callId: string;
  readonly caller: Caller;
  readonly job: Job<unknown>;
  readonly routing: CallRouting;
}

/** The routing fields of a request, and what its client gives of the provider. */
export function routingOf(request: Readonly<Record<string, unknown>>, client?: ClientParams): CallRouting {
  const texts = (value: unknown) => (Array.isArray(value) ? value.filter((name) => typeof name === "string") : []);
  const {
    fallbacks,
    context_window_fallback_dict: context,
    num_retries: retries,
    timeout,
    stream_timeout: streamTimeout,
    disable_fallbacks: disabled,
    drop_params: drop,
  } = request;
  return {
    fallbacks: texts(fallbacks),
    contextWindowFallbacks: (context ?? {}) as Readonly<Record<string, string>>,
    numRetries: typeof retries === "number" ? retries : undefined,
    timeoutMs: millisecondsOf(timeout),
    streamTimeoutMs: millisecondsOf(streamTimeout),
    disableFallbacks: disabled === true,
    dropParams: typeof drop === "boolean" ? drop : undefined,
    client,
  };
}

/** At least 1, because 0 would be no limit of a timer. */
function millisecondsOf(seconds: unknown): number | undefined {
  return typeof seconds === "number" ? Math.max(1, Math.ceil(seconds * 1000)) : undefined;
}

/** Every model that the caller named besides the requested one. */
export function alternativesOf({ fallbacks, contextWindowFallbacks }: CallRouting): readonly string[] {
  const named = Object.values(contextWindowFallbacks);
  return named.length === 0 ? fallbacks : [...fallbacks, ...named];
}

/** What routing needs to know of a call. */
export function routeRequest(deps: PlanDeps, call: RoutedCall, plan: CallPlan): RouteCall {
  const { job, caller, routing, callId } = call;
  const { requestTokens: inputTokens, maxOutputTokens } = plan;
  return {
    model: job.model,
    callId,
    keyId: caller.keyId,
    stream: job.stream || job.passesBytes === true,
    tags: job.tags,
    inputTokens,
    maxOutputTokens,
    clientFallbacks: routing.fallbacks,
    clientContextFallbacks: contextFallbacks(routing),
    numRetries: routing.numRetries,
    timeoutMs: routing.timeoutMs,
    streamTimeoutMs: routing.streamTimeoutMs,
    disableFallbacks: routing.disableFallbacks,
    teamId: caller.teamId,
    organizationId: caller.organizationId,
    models: caller.models,
    teamModels: caller.teamModels,
    offer: offerOf(job),
    isAble: (deployment) => providerFor(deps.providers, job, deployment) !== undefined,
    mayUse: (model) => mayUseModel(caller, model, deps.routing),
    ...(routing.client && limitedTo(routing.client, deps, job)),
  };
}

/** A call with a client's parameters: only deployments that take them serve it, and what becomes of it says nothing about them. */
function limitedTo(client: ClientParams, { providers }: PlanDeps, job: Job<unknown>): Pick<RouteCall, "offer" | "isAble" | "isolation"> {
  return {
    offer: undefined,
    isAble: (deployment) => client.isAllowedAt(deployment) && providerFor(providers, job, deployment) !== undefined,
    isolation: client.usesStoredKey ? "outcome" : "whole",
  };
}

function contextFallbacks({ contextWindowFallbacks }: CallRouting): RouteCall["clientContextFallbacks"] {
  const pairs = Object.entries(contextWindowFallbacks);
  return pairs.length === 0 ? undefined : new Map(pairs.map(([from, to]) => [from, [to]]));
}
