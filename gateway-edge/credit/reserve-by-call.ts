import type { Clock } from "../../common/clock.ts";
import { asAppError, isTransient } from "../../common/errors.ts";
import type { Logger } from "../../common/logger.ts";
import type { RatePermit, ReleaseRequest, ReserveRequest, ReserveResponse } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ControlPlane } from "../access/clients/control-plane.ts";
import type { Reservation, ReserveInput } from "./credit.ts";
import { gatherReservations } from "./gather.ts";
import type { Ahead, RatePermits, UnusedPermit } from "./rate-permits.ts";

export interface ByCallDeps {
  readonly access: Pick<ControlPlane["access"], "reserve" | "reserveMany" | "release">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly edgeId: string;
  readonly permits: RatePermits;
  /** Organizations with the same control plane; absent: there is one. */
  readonly laneOf?: ((organizationId: string) => string) | undefined;
}

/** As long as for a lease: a control plane that has just started may need more than a second for its first answers. */
const RESERVE_MS = 3000;
const RELEASE_ATTEMPTS = 5;
const BACK_OFF_MS = 50;
const NONE_AHEAD: Ahead = { requests: 0, tokens: 0, parallel: 0 };

/** Reserves at the control plane for one call: a call with a budget or a limit of a few calls cannot be reserved in advance. */
export function reserveByCall({ access, clock, logger, edgeId, permits, laneOf }: ByCallDeps) {
  const ask = gatherReservations(access, laneOf);

  /** Also brings a permit for later calls, where there are many. */
  async function reserve(input: ReserveInput): Promise<Reservation> {
    const ahead = input.isUncounted ? NONE_AHEAD : permits.ahead(input);
    const askedAtMs = clock.monotonicMs();
    let answer: ReserveResponse | undefined;
    try {
      answer = await ask(requestOf(input, input.isUncounted ? { more: input.intent.worstCase } : { ahead }), { deadlineMs: RESERVE_MS });
      return { reserved: answer.reserved, rate: answer.rate };
    } catch (thrown) {
      const error = asAppError(thrown);
      if (isTransient(error)) releaseUnknown(input.intent, ahead);
      throw error;
    } finally {
      if (ahead.requests > 0) permits.asked(input, answer && { permit: answer.permit, rate: answer.rate, askedAtMs });
    }
  }

  /** Reserves this much more for a running call. */
  async function grow(input: ReserveInput, more: bigint): Promise<bigint> {
    return (await ask(requestOf(input, { more }), { deadlineMs: RESERVE_MS })).reserved;
  }

  function requestOf(
    { intent, tokens, model }: ReserveInput,
    { more, ahead = NONE_AHEAD }: { more?: bigint; ahead?: Ahead },
  ): ReserveRequest {
    const { callId, apiKeyId: keyId, teamId, organizationId, userId, worstCase } = intent;
    return {
      ...{ callId, keyId, teamId, organizationId, userId, model, tokens: BigInt(tokens), edgeId },
      worstCase: more ?? worstCase,
      isGrowth: more !== undefined,
      aheadRequests: BigInt(ahead.requests),
      aheadTokens: BigInt(ahead.tokens),
      aheadParallel: ahead.parallel,
    };
  }

  /** Returns what expired permits have not used. */
  function returnUnused(): void {
    for (const unused of permits.unused()) void returnPermit(unused);
  }

  /** No call follows, and all have ended: returns all permits. */
  async function close(): Promise<void> {
    await Promise.all(permits.close().map(returnPermit));
  }

  async function returnPermit(returned: UnusedPermit): Promise<void> {
    const { callId, organizationId } = returned.permit;
    try {
      await access.release({ callId, organizationId, unused: returned.unused }, { deadlineMs: RESERVE_MS });
      permits.returned(returned, true);
    } catch {
      permits.returned(returned, false);
    }
  }

  /** It is not known whether credit was reserved and a permit granted: they are released, or they are missing until they expire. */
  function releaseUnknown({ callId, organizationId }: ReserveInput["intent"], ahead: Ahead): void {
    release({ callId, organizationId });
    if (ahead.requests > 0) void releaseNow({ callId, organizationId, unused: wholePermit(ahead) });
  }

  function release({ callId, organizationId }: Pick<ReserveInput["intent"], "callId" | "organizationId">): void {
    void releaseNow({ callId, organizationId, unused: undefined });
  }

  async function releaseNow({ callId, organizationId, unused }: ReleaseRequest): Promise<void> {
    for (let attempt = 0; attempt < RELEASE_ATTEMPTS; attempt++) {
      try {
        await access.release({ callId, organizationId, unused }, { deadlineMs: RESERVE_MS });
        return;
      } catch {
        await clock.sleep(BACK_OFF_MS * 2 ** attempt);
      }
    }
    logger.warn({ callId }, "a reservation could not be released; it expires by itself");
  }

  return { reserve, grow, release, returnUnused, close };
}

function wholePermit({ requests, tokens, parallel }: Ahead): RatePermit {
  return { requests: BigInt(requests), tokens: BigInt(tokens), lifeMs: 0, parallel };
}
