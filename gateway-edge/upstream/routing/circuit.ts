import { type ErrorClass, isDeploymentFault } from "./error-class.ts";
import { RollingCount } from "./rolling-count.ts";
import type { PerClass } from "./settings.ts";

/**
 * Whether a deployment may be called, and why not. The rules, where they differ from LiteLLM's or LiteLLM has none:
 * - A 429 cools down at once when the group has another deployment, for the upstream's retry-after if it sent one. A lone deployment is
 *   never cooled down for it: the caller's back-off does the waiting. 429s do not count as failures.
 * - A refused key or an unknown model (401, 403, 404) cools down for at least a minute: only the operator can repair it. New settings of
 *   the deployment end it. In a wildcard deployment an unknown or forbidden model is the caller's choice and cools down nothing. Nor does
 *   a 403 or 404 within a minute of a successful answer: key and model are right, so it is about the request, and other tenants go on.
 * - Other failures open the circuit after more than 3 in a row, or when more than half of at least 5 requests of the last minute failed. A
 *   lone deployment needs 20 requests and 90 %: opening its circuit turns a partial failure into a total one.
 * - `allowed_fails` set by the operator (or its policy for the class) replaces these rules: more failures in a row than that cool down the
 *   deployment, lone or not, 429 too.
 * - After the cool-down of a failure one request probes; until it is answered other requests go elsewhere, but not longer than another
 *   cool-down, so that a slow probe does not block them. Its success closes the circuit and clears the failures, its failure opens it
 *   again.
 */
export interface CircuitRules {
  readonly cooldowns: boolean;
  readonly cooldownMs: number;
  readonly allowedFails: number | undefined;
  readonly allowedFailsPolicy: PerClass;
}

export interface FailureFacts {
  readonly kind: ErrorClass;
  readonly retryAfterMs: number | undefined;
  readonly hasAlternatives: boolean;
  /** From a wildcard: the model was the caller's choice. */
  readonly derived: boolean;
  /** When the attempt began; attempts from before the circuit last changed do not count. */
  readonly startedMs: number;
  readonly forbidden: boolean;
}

export type Availability =
  | { readonly state: "closed" | "half-open" }
  | { readonly state: "open"; readonly waitMs: number; readonly cause: "rate-limit" | "failure" };

const FAILS_IN_A_ROW = 3;
const CONFIGURATION_FAULT_MS = 60_000;
const RETRY_AFTER_MS_MAX = 300_000;

export class Circuit {
  readonly #requests = new RollingCount({ bucketMs: 10_000, buckets: 6 });
  readonly #failures = new RollingCount({ bucketMs: 10_000, buckets: 6 });
  #inARow = 0;
  #answeredMs = Number.NEGATIVE_INFINITY;
  #changedMs = Number.NEGATIVE_INFINITY;
  #untilMs = 0;
  #cooledMs = 0;
  #cause: "rate-limit" | "failure" | undefined;

  availability(nowMs: number): Availability {
    if (this.#cause === undefined) return { state: "closed" };
    if (nowMs < this.#untilMs) return { state: "open", waitMs: this.#untilMs - nowMs, cause: this.#cause };
    return { state: this.#cause === "rate-limit" ? "closed" : "half-open" };
  }

  /** A request is sent. In a half-open circuit it is the probe: other requests are blocked for one more cool-down. */
  started(nowMs: number): void {
    if (this.availability(nowMs).state === "half-open") this.#untilMs = nowMs + this.#cooledMs;
  }

  succeeded(nowMs: number, startedMs: number): void {
    this.#answeredMs = nowMs;
    this.#responded(nowMs, startedMs);
  }

  #responded(nowMs: number, startedMs: number): void {
    this.#requests.add(nowMs);
    this.#inARow = 0;
    if (startedMs < this.#changedMs) return;
    if (this.#cause === "failure") {
      this.#requests.clear();
      this.#failures.clear();
    }
    this.#cause = undefined;
  }

  /** The request ended without a verdict: if it was the probe, the next request may probe. */
  withdrawn(nowMs: number, startedMs: number): void {
    if (this.#cause === "failure" && startedMs >= this.#changedMs) this.#untilMs = Math.min(this.#untilMs, nowMs);
  }

  failed(nowMs: number, facts: FailureFacts, rules: CircuitRules): void {
    if (facts.kind === "ours") {
      this.withdrawn(nowMs, facts.startedMs);
      return;
    }
    const isOfRequest = isCallersChoice(facts) || (isAboutObject(facts) && nowMs - this.#answeredMs < CONFIGURATION_FAULT_MS);
    const isFault = isDeploymentFault(facts.kind) && !isOfRequest;
    // The deployment answered: a refused request is not a failure of the deployment.
    if (!isFault && facts.kind !== "rate-limit") {
      this.#responded(nowMs, facts.startedMs);
      return;
    }
    if (isFault) {
      this.#requests.add(nowMs);
      this.#failures.add(nowMs);
    }
    if (facts.startedMs < this.#changedMs || !rules.cooldowns) return;
    this.#inARow++;
    if (this.#mustOpen(nowMs, facts, rules)) this.#open(nowMs, coolingMs(facts, rules), isFault ? "failure" : "rate-limit");
    else if (!isFault) this.#cause = undefined;
  }

  #mustOpen(nowMs: number, facts: FailureFacts, rules: CircuitRules): boolean {
    if (this.#cause === "failure" && facts.kind !== "rate-limit") return true;
    const allowed = rules.allowedFailsPolicy[facts.kind] ?? rules.allowedFails;
    if (allowed !== undefined) return this.#inARow > allowed;
    if (facts.kind === "rate-limit") return facts.hasAlternatives;
    if (facts.kind === "authentication" || facts.kind === "not-found") return true;
    if (facts.hasAlternatives && this.#inARow > FAILS_IN_A_ROW) return true;
    const { requestsMin, shareMax } = facts.hasAlternatives ? { requestsMin: 5, shareMax: 0.5 } : { requestsMin: 20, shareMax: 0.9 };
    const requests = this.#requests.sum(nowMs);
    return requests >= requestsMin && this.#failures.sum(nowMs) > shareMax * requests;
  }

  #open(nowMs: number, milliseconds: number, cause: "rate-limit" | "failure"): void {
    if (milliseconds <= 0) return;
    this.#changedMs = nowMs;
    this.#cooledMs = milliseconds;
    this.#untilMs = nowMs + milliseconds;
    this.#cause = cause;
    this.#inARow = 0;
  }
}

function isCallersChoice(facts: FailureFacts): boolean {
  return facts.derived && isAboutObject(facts);
}

/** 403 or 404: what the request names is forbidden or unknown. A 401 is about the key alone. */
function isAboutObject({ kind, forbidden }: FailureFacts): boolean {
  return kind === "not-found" || (kind === "authentication" && forbidden);
}

function coolingMs({ kind, retryAfterMs }: FailureFacts, { cooldownMs }: CircuitRules): number {
  // cooldown_time 0 is the operator's way to disable cool-downs for a deployment.
  if (cooldownMs <= 0) return 0;
  if (kind === "authentication" || kind === "not-found") return Math.max(CONFIGURATION_FAULT_MS, cooldownMs);
  return retryAfterMs === undefined ? cooldownMs : Math.min(Math.max(retryAfterMs, 1), RETRY_AFTER_MS_MAX);
}
