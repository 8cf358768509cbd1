import type { AppError } from "../../../common/errors.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { FallbackMap } from "./fallback-lists.ts";
import type { AnswerFacts } from "./health.ts";
import type { Principal } from "./principal.ts";

/** What routing must know of a call. */
export interface RouteCall extends Principal {
  readonly model: string;
  readonly callId: string;
  readonly keyId: string;
  readonly stream: boolean;
  readonly tags: readonly string[];
  /** Of the beginning of the prompt that providers cache. */
  readonly promptHash?: string | undefined;
  readonly inputTokens: number;
  readonly maxOutputTokens: number;
  /** The caller's own fallbacks, authorised before. */
  readonly clientFallbacks?: readonly (string | ClientFallback)[] | undefined;
  readonly clientContextFallbacks?: FallbackMap | undefined;
  readonly clientContentPolicyFallbacks?: FallbackMap | undefined;
  readonly numRetries?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly streamTimeoutMs?: number | undefined;
  readonly disableFallbacks?: boolean | undefined;
  /** Asked for configured fallbacks only. */
  mayUse(model: string): boolean;
  /** Whether a deployment can do what the call needs; absent: every one can. */
  isAble?(deployment: Deployment): boolean;
  /** Calls with the same word here have the same answers of `isAble`: what was found for one holds for all; absent: it is asked each time. */
  readonly offer?: string | undefined;
  /** Exactly this deployment, cooling or not, and no fallbacks: for health checks and what must stay where it began. */
  readonly pinnedDeploymentId?: string | undefined;
}

export interface ClientFallback {
  readonly model: string;
  /** Fields of the request that are different for it. */
  readonly override?: Readonly<Record<string, unknown>> | undefined;
}

/** One call upstream. It ends with exactly one of failed, succeeded or cancelled; what comes after the first is ignored. */
export interface Attempt {
  /** With its concrete model when it came from a wildcard; the id is the configured one. */
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
  /** The upstream's own status, where it answered: tells a refused key (401, 403) or model (404) from a broken server. */
  readonly upstreamStatus?: number | undefined;
}

/** The attempts of one call, one after the other. */
export interface RouteRun {
  /**
   * The next attempt, after the back-off where one is due; undefined when nothing more is allowed, then `lastError` says why. The
   * deployment counts as busy from here on. Rejects when the signal is aborted during the back-off, and the run is over.
   */
  next(signal?: AbortSignal): Attempt | Promise<Attempt | undefined>;
  failed(attempt: Attempt, error: AppError, how: FailedAttempt): void;
  succeeded(attempt: Attempt, answer: AnswerFacts): void;
  /** The client left. Neither good nor bad for the deployment; the run is over. */
  cancelled(attempt: Attempt): void;
  /** Attempts beyond the first of each group. */
  readonly retries: number;
  /** Groups entered beyond the first. */
  readonly fallbacks: number;
  readonly lastError: AppError | undefined;
}
