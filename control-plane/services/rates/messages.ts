import { AppError } from "../../../common/errors.ts";
import type * as wire from "../../../proto/gen/tributary/rates/v1/rates.ts";
import type { CallToCount, CountOutcome, ReturnedCall } from "../../credit/counted-calls.ts";
import type { RateSubject } from "../../credit/rate-limiter.ts";
import type { Reading } from "../../credit/rate-readings.ts";
import { rateLimitsOf } from "../../domain/rate-limits.ts";

/** A call for the wire. */
export function toCountedCall({ callId, subjects, tokens, ahead }: CallToCount): wire.CountedCall {
  return {
    callId,
    subjects: subjects.map(({ kind, id, limits }) => ({ kind, id, limits })),
    tokens: BigInt(tokens),
    aheadRequests: BigInt(ahead?.requests ?? 0),
    aheadTokens: BigInt(ahead?.tokens ?? 0),
  };
}

export function fromCountedCall({ callId, subjects, tokens, aheadRequests, aheadTokens }: wire.CountedCall): CallToCount {
  return {
    callId,
    subjects: subjects.map(({ kind, id, limits }) => ({ kind: sharedKind(kind), id, limits: rateLimitsOf(limits ?? {}) })),
    tokens: Number(tokens),
    ahead: aheadRequests > 0n ? { requests: Number(aheadRequests), tokens: Number(aheadTokens) } : undefined,
  };
}

export function toOutcome({ readings, permit }: CountOutcome): wire.CountOutcome {
  return {
    readings: readings.map(({ most, remaining, ...rest }) => ({ ...rest, most: BigInt(most), remaining: BigInt(remaining) })),
    permit: permit && {
      requests: BigInt(permit.requests),
      tokens: permit.tokens === undefined ? undefined : BigInt(permit.tokens),
      lifeMs: permit.lifeMs,
    },
  };
}

export function fromOutcome({ readings, permit }: wire.CountOutcome): CountOutcome {
  return {
    readings: readings.map(({ unit, subject, most, waitSeconds, remaining }) => ({
      unit: unit as Reading["unit"],
      subject: sharedKind(subject),
      most: Number(most),
      waitSeconds,
      remaining: Number(remaining),
    })),
    permit: permit && {
      requests: Number(permit.requests),
      tokens: permit.tokens === undefined ? undefined : Number(permit.tokens),
      lifeMs: permit.lifeMs,
    },
  };
}

export function toReturned(returned: ReturnedCall): wire.ReturnedCall {
  const { requests, tokens } = returned.what === "unused" ? returned : { requests: 0, tokens: 0 };
  return { callId: returned.callId, what: returned.what, requests: BigInt(requests), tokens: BigInt(tokens) };
}

export function fromReturned({ callId, what, requests, tokens }: wire.ReturnedCall): ReturnedCall {
  if (what === "unused") return { callId, what, requests: Number(requests), tokens: Number(tokens) };
  if (what === "ended" || what === "withdrawn") return { callId, what };
  throw new AppError("INVALID_REQUEST", `A call is ended, withdrawn or unused, not ${JSON.stringify(what)}.`);
}

function sharedKind(kind: string): RateSubject["kind"] {
  if (kind === "model" || kind === "user") return kind;
  throw new AppError("INVALID_REQUEST", `Only limits of models and users are counted for others, not of ${JSON.stringify(kind)}.`);
}
