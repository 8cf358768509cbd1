import type { IncomingHttpHeaders } from "node:http";
import { CREDENTIAL_HEADERS } from "../../../common/credential-headers.ts";
import type { Random } from "../../../common/random.ts";

/** A request whose sender is distinguished by its credential. */
export interface Arrival {
  readonly headers: IncomingHttpHeaders;
}

const SLOTS = 1024;
const WINDOW_MS = 1000;
/** Characters of a credential that distinguish it. */
const HASHED_CHARACTERS = 16;

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

  constructor({ random }: { readonly random: Random }) {
    this.#seed = random.bytes(4).readUInt32LE(0);
  }

  clear(nowMs: number): void {
    this.#roll(nowMs);
    this.#lightBelow = 0;
  }

  /** Whether the key of a request had less than half of its fair share in this second. */
  isLight(request: Arrival, nowMs: number): boolean {
    if (nowMs >= this.#windowEndsMs) this.#roll(nowMs);
    const slot = this.#slotOf(request);
    if (this.#isPresent[slot] === 0) {
      this.#isPresent[slot] = 1;
      this.#present++;
    }
    const elapsedShare = 1 - (this.#windowEndsMs - nowMs) / WINDOW_MS;
    return this.#lightBelow > 0 && (this.#accepted[slot] ?? 0) <= this.#lightBelow * elapsedShare;
  }

  accepted(request: Arrival): void {
    const slot = this.#slotOf(request);
    this.#accepted[slot] = (this.#accepted[slot] ?? 0) + 1;
    this.#total++;
  }

  #roll(nowMs: number): void {
    // With one key there is none to protect it from.
    this.#lightBelow = this.#present > 1 ? this.#total / this.#present / 2 : 0;
    this.#accepted.fill(0);
    this.#isPresent.fill(0);
    this.#present = 0;
    this.#total = 0;
    this.#windowEndsMs = nowMs + WINDOW_MS;
  }

  #slotOf({ headers }: Arrival): number {
    let text = "";
    for (const name of CREDENTIAL_HEADERS) {
      const value = headers[name];
      if (typeof value === "string") text = value;
    }
    // FNV-1a.
    let hash = this.#seed;
    for (let index = Math.max(0, text.length - HASHED_CHARACTERS); index < text.length; index++) {
      hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
    }
    return (hash ^ (hash >>> 16)) & (SLOTS - 1);
  }
}
