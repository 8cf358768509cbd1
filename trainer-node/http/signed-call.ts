import { createHash, timingSafeEqual } from "node:crypto";
import type { Request } from "express";
import type { Clock } from "../../common/clock.ts";
import { SIGNATURE_HEADERS, signatureOf } from "../call-signature.ts";
import { TrainerError } from "../errors.ts";

/** How far a coordinator's clock may be from ours, and so how long a nonce has to be remembered. */
const CLOCK_MS_MAX = 300_000;
const NONCES_MAX = 100_000;

/** Nonces that were used, for as long as the time in a call still lets it in. */
export interface UsedNonces {
  /** False where it was used before. */
  take(nonce: string): boolean;
}

export function createUsedNonces({ clock }: { clock: Clock }): UsedNonces {
  const used = new Map<string, number>();
  return {
    take: (nonce) => {
      const now = clock.now();
      for (const [old, at] of used) {
        // In the order they came: the first that is young enough has only younger ones behind it.
        if (at > now - 2 * CLOCK_MS_MAX && used.size < NONCES_MAX) break;
        used.delete(old);
      }
      if (used.has(nonce)) return false;
      used.set(nonce, now);
      return true;
    },
  };
}

/** A call whose signature is good; its body is checked against what was signed while it arrives. */
export interface SignedCall {
  hash(chunk: Uint8Array): void;
  /** To be asked once the body is in, before anything is answered. */
  requireSameBody(): void;
}

/** Undefined where the node has no secret: then it takes calls as they are. */
export function signedCall(
  request: Request,
  { secret, nonces, clock }: { secret: string | undefined; nonces: UsedNonces; clock: Clock },
): SignedCall | undefined {
  if (secret === undefined) return undefined;
  const header = (name: string): string => String(request.headers[name] ?? "");
  const [given, nonce, timestamp] = [SIGNATURE_HEADERS.signature, SIGNATURE_HEADERS.nonce, SIGNATURE_HEADERS.timestamp].map(header) as [
    string,
    string,
    string,
  ];
  const bodySha256 = header(SIGNATURE_HEADERS.bodySha256);
  const expected = signatureOf(secret, { method: request.method, path: request.originalUrl, timestamp, nonce, bodySha256 });
  if (!isSame(given, expected)) throw refused("This node takes calls that its coordinator signed, and this one's signature is not right.");
  if (!(Math.abs(clock.now() - Number(timestamp)) <= CLOCK_MS_MAX)) {
    throw refused(`The time in the call is more than ${CLOCK_MS_MAX / 1000} s from ours; set the clocks right.`);
  }
  if (!nonces.take(nonce)) throw refused("This call was made before: its nonce is used.");
  const body = createHash("sha256");
  return {
    hash: (chunk) => void body.update(chunk),
    requireSameBody: () => {
      if (body.digest("hex") !== bodySha256) throw refused("The body is not the one that was signed.");
    },
  };
}

function isSame(given: string, expected: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

function refused(message: string): TrainerError {
  return new TrainerError("UNAUTHORIZED", message);
}
