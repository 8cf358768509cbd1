import type { CancelSignal } from "../../../common/cancel.ts";
import type { AppError } from "../../../common/errors.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { FallbackMap } from "./fallback-lists.ts";
import type { AnswerFacts } from "./health.ts";
import type { Principal } from "./principal.ts";

/** What routing needs to know of a call. */
export interface RouteCall extends Principal {
  readonly model: string;
  readonly callId: string;
  readonly keyId: string;
  readonly stream: boolean;
  readonly tags: readonly string[];
  /** Of the prompt prefix that providers cache. */
  readonly promptHash?: string | undefined;
  readonly inputTokens: number;
  readonly maxOutputTokens: number;
  /** The caller's own fallbacks, already authorized. */
  readonly clientFallbacks?: readonly (string | ClientFallback)[] | undefined;
  readonly clientContextFallbacks?: FallbackMap | undefined;
  readonly clientContentPolicyFallbacks?: FallbackMap | undefined;
  readonly numRetries?: number | undefined;
  /** The caller's own limits, which shorten the configured ones. */
  readonly timeoutMs?: number | undefined;
  readonly streamTimeoutMs?: number | undefined;
  readonly disableFallbacks?: boolean | undefined;
  /** Called for configured fallbacks only. */
  mayUse(model: string): boolean;
  /** Whether a deployment supports what the call needs; absent: every one does. */
  isAble?(deployment: Deployment): boolean;
  /** Calls with the same value have the same results of `isAble`, which are then cached; absent: `isAble` is called each time. */
  readonly offer?: string | undefined;
  /** Exactly this deployment, cooling down or not, and no fallbacks: for health checks and calls that must stay on their deployment. */
  readonly pinnedDeploymentId?: string | undefined;
  /** What the call does not share with others; absent: it is a call like any other. */
  readonly isolation?: Isolation | undefined;
}

/**
 * What a run does not share with the calls of others. `outcome`: it counts as load of its deployment, but its result says nothing about
 * that. `whole`: it has another address or another key, so it is neither load of the deployment nor held up by its state.
 */
export type Isolation = "outcome" | "whole";

export interface ClientFallback {
  readonly model: string;
  /** Request fields that differ for this fallback. */
  readonly override?: Readonly<Record<string, unknown>> | undefined;
}

/** One upstream request. It ends with exactly one of failed, succeeded or cancelled; later calls are ignored. */
export interface Attempt {
  /** With its concrete model when it comes from a wildcard; the id is the configured one. */
  readonly deployment: Deployment;
  readonly group: string;
  readonly timeouts: Timeouts;
  readonly isFallback: boolean;
  readonly override: Readonly<Record<string, unknown>> | undefined;
  /** From 1, over the whole run. */
  readonly number: number;
}

export interface Timeouts {
  readonly connectMs: number;
  /** Until the first token of a stream, or the whole of another answer. */
  readonly firstTokenMs: number;
  readonly betweenTokensMs: number;
  readonly totalMs: number;
}

export interface FailedAttempt {
  /** The client has seen a part of it: nothing else is tried. */
  readonly visible: boolean;
  /** The upstream's own status, if it answered: distinguishes a refused key (401, 403) or model (404) from a broken server. */
  readonly upstreamStatus?: number | undefined;
}

/** The attempts of one call, one after the other. */
export interface RouteRun {
  /**
   * The next attempt, after a back-off if one is due; undefined when no more is allowed, then `lastError` has the reason. From here on the
   * deployment counts as busy. Rejects when the signal is aborted during the back-off, and the run is over.
   */
  next(signal?: CancelSignal): Attempt | Promise<Attempt | undefined>;
  failed(attempt: Attempt, error: AppError, how: FailedAttempt): void;
  succeeded(attempt: Attempt, answer: AnswerFacts): void;
  /** The client disconnected. Neither success nor failure of the deployment; the run is over. */
  cancelled(attempt: Attempt): void;
  /** Attempts beyond the first of each group. */
  readonly retries: number;
  /** Groups entered beyond the first. */
  readonly fallbacks: number;
  readonly lastError: AppError | undefined;
}

/** A deployment failed an attempt; `upstreamStatus` is undefined if it did not answer. */
export type OnFailed = (deploymentId: string, upstreamStatus: number | undefined) => void;
