import { CALL_MS_MAX } from "./call-life.ts";

/** What one permit holds, under these names. */
export interface PermitHold {
  readonly names: readonly string[];
  readonly amount: bigint;
  readonly organizationId: string | undefined;
  readonly edgeId: string | undefined;
}

interface Entry extends PermitHold {
  returned: bigint;
  readonly untilMs: number;
}

/**
 * What permits of edges hold until their calls have ended: parallel calls, or amounts of budgets. By the call that each permit was granted
 * with. An edge reports the total that it returned so far, so a message may arrive twice or late.
 */
export class PermitHolds {
  readonly #entries = new Map<string, Entry>();
  readonly #release: (names: readonly string[], amount: bigint) => void;

  /** `release` is called with what is held no more. */
  constructor(release: (names: readonly string[], amount: bigint) => void) {
    this.#release = release;
  }

  /** The same call again, after a lost answer: the edge does not know the first permit. */
  endCall(callId: string): void {
    this.returned(callId, this.#entries.get(callId)?.amount ?? 0n);
  }

  add(callId: string, hold: PermitHold, nowMs: number): void {
    this.#entries.set(callId, { ...hold, returned: 0n, untilMs: nowMs + CALL_MS_MAX });
  }

  returned(callId: string, total: bigint): void {
    const entry = this.#entries.get(callId);
    if (!entry) return;
    const more = (total < entry.amount ? total : entry.amount) - entry.returned;
    if (more <= 0n) return;
    entry.returned += more;
    if (entry.returned === entry.amount) this.#entries.delete(callId);
    this.#release(entry.names, more);
  }

  /** Ends what no edge returns any more. */
  end(isOver: (hold: PermitHold) => boolean): void {
    for (const [callId, entry] of this.#entries) if (isOver(entry)) this.returned(callId, entry.amount);
  }

  /** Ends what was not returned in time. */
  prune(nowMs: number): void {
    for (const [callId, entry] of this.#entries) if (entry.untilMs <= nowMs) this.returned(callId, entry.amount);
  }
}
