import type { Clock } from "../../common/clock.ts";
import { asAppError } from "../../common/errors.ts";
import type { Logger } from "../../common/logger.ts";
import type { ControlPlane } from "../clients/control-plane.ts";
import type { Reservation, ReserveInput } from "./credit.ts";
import { gatherReservations } from "./gather.ts";
import { isTransient } from "./transient.ts";

export interface ByCallDeps {
  readonly access: Pick<ControlPlane["access"], "reserveMany" | "release">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly edgeId: string;
}

const RESERVE_MS = 1000;
const RELEASE_ATTEMPTS = 5;
const BACK_OFF_MS = 50;

/** Asks the control plane for one call: what has a limit of a few calls cannot be set aside in advance. */
export function reserveByCall({ access, clock, logger, edgeId }: ByCallDeps) {
  const ask = gatherReservations(access);

  /** With `more`: for a call that runs already, so much beside what it holds. */
  async function reserve({ intent, tokens, model }: ReserveInput, { more }: { more?: bigint } = {}): Promise<Reservation> {
    const { callId, apiKeyId: keyId, teamId, organizationId, userId } = intent;
    const call = { callId, keyId, teamId, organizationId, userId, model, tokens: BigInt(tokens), edgeId };
    const request = { ...call, worstCase: more ?? intent.worstCase, isGrowth: more !== undefined };
    try {
      const { reserved, rate } = await ask(request, { deadlineMs: RESERVE_MS });
      return { reserved, rate };
    } catch (thrown) {
      const error = asAppError(thrown);
      // Nobody knows whether it was set aside: give it back, or it is missing until it expires.
      if (isTransient(error) && more === undefined) release(callId);
      throw error;
    }
  }

  function release(callId: string): void {
    void releaseNow(callId);
  }

  async function releaseNow(callId: string): Promise<void> {
    for (let attempt = 0; attempt < RELEASE_ATTEMPTS; attempt++) {
      try {
        await access.release({ callId }, { deadlineMs: RESERVE_MS });
        return;
      } catch {
        await clock.sleep(BACK_OFF_MS * 2 ** attempt);
      }
    }
    logger.warn({ callId }, "a reservation could not be released; it expires by itself");
  }

  return { reserve, release };
}
