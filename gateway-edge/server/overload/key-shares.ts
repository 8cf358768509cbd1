import type { IncomingHttpHeaders } from "node:http";
import type { Random } from "../../../common/random.ts";
import { decidingCredential } from "../middleware/authenticate-key.ts";

/** A request whose sender is distinguished by its credential. */
export interface Arrival {
  readonly headers: IncomingHttpHeaders;
}

const SLOTS = 1024;
const WINDOW_MS = 1000;
/** Characters of a credential that distinguish it. */
const HASHED_CHARACTERS = 16;
/** Calls of light keys that are accepted beyond the budget of a turn, for each call that was accepted within it in the last second. */
const LIGHT_SHARE = 0.5;
/** For so long the right to such calls accumulates, so that no turn accepts those of a whole second. */
const LIGHT_CREDIT_MS = 100;

/**
 * Accepted calls of the current second by key, without authentication: a credential counts in one of 1,024 slots. The hash has a random seed,
 * so that no caller can choose to share the slot of another.
 */
export class KeyShares {
  readonly #seed: number;
  #accepted = new Uint32Array(SLOTS);
  #isPresent = new Uint8Array(SLOTS);
  #present = 0;
  #total = 0;
  /** Half of the average of the last second. A slot is light while it has not more than that, in proportion to the time of this second. */
  #lightBelow = 0;
  #windowEndsMs = 0;
  /** Calls of this second that were accepted within the budget of their turn. */
  #withinBudget = 0;
  #lightPerMs = 0;
  #lightCredit = 0;
  #creditAtMs = 0;

  constructor({ random }: { readonly random: Random }) {
    this.#seed = random.bytes(4).readUInt32LE(0);
  }

  clear(nowMs: number): void {
    this.#roll(nowMs);
    this.#lightBelow = 0;
    this.#lightPerMs = 0;
    this.#lightCredit = 0;
  }

  /** Counts the key of a request as present; returns its slot. */
  arrived(request: Arrival, nowMs: number): number {
    if (nowMs >= this.#windowEndsMs) this.#roll(nowMs);
    const slot = this.#slotOf(request);
    if (this.#isPresent[slot] === 0) {
      this.#isPresent[slot] = 1;
      this.#present++;
    }
    return slot;
  }

  /** Whether a key had less than half of its fair share in this second, and light keys together not too many calls beyond the budget. */
  isLight(slot: number, nowMs: number): boolean {
    if (!this.hasLittle(slot, nowMs)) return false;
    const creditMax = Math.max(1, this.#lightPerMs * LIGHT_CREDIT_MS);
    this.#lightCredit = Math.min(creditMax, this.#lightCredit + (nowMs - this.#creditAtMs) * this.#lightPerMs);
    this.#creditAtMs = nowMs;
    return this.#lightCredit >= 1;
  }

  /** Whether a key had less than half of its fair share in this second. */
  hasLittle(slot: number, nowMs: number): boolean {
    const elapsedShare = 1 - (this.#windowEndsMs - nowMs) / WINDOW_MS;
    return this.#lightBelow > 0 && (this.#accepted[slot] ?? 0) <= this.#lightBelow * elapsedShare;
  }

  accepted(slot: number, { isWithinBudget }: { isWithinBudget: boolean }): void {
    this.#accepted[slot] = (this.#accepted[slot] ?? 0) + 1;
    this.#total++;
    if (isWithinBudget) this.#withinBudget++;
    else this.#lightCredit--;
  }

  #roll(nowMs: number): void {
    // With one key there is none to protect it from.
    this.#lightBelow = this.#present > 1 ? this.#total / this.#present / 2 : 0;
    this.#accepted.fill(0);
    this.#isPresent.fill(0);
    this.#present = 0;
    this.#total = 0;
    this.#lightPerMs = (this.#withinBudget * LIGHT_SHARE) / WINDOW_MS;
    this.#withinBudget = 0;
    this.#windowEndsMs = nowMs + WINDOW_MS;
  }

  #slotOf({ headers }: Arrival): number {
    const text = decidingCredential({ get: (name) => textOf(headers[name]) }) ?? "";
    // FNV-1a.
    let hash = this.#seed;
    for (let index = Math.max(0, text.length - HASHED_CHARACTERS); index < text.length; index++) {
      hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
    }
    return (hash ^ (hash >>> 16)) & (SLOTS - 1);
  }
}

function textOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
