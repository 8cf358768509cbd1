import { createHash, timingSafeEqual } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Request, RequestHandler } from "express";
import type { Clock } from "../../common/clock.ts";
import { SIGNATURE_HEADERS, signatureOf } from "../../common/training/call-signature.ts";
import { TrainerError } from "../errors.ts";

/** Largest difference between a coordinator's clock and ours. Nonces are stored for twice as long. */
const CLOCK_MS_MAX = 300_000;
const NONCES_MAX = 100_000;

/** Nonces of accepted calls, stored for as long as the timestamp of a call would let a repetition in. */
export interface UsedNonces {
  /** The earliest timestamp that is accepted: calls signed earlier may have been accepted before this process started. */
  readonly signedFrom: number;
  /** False if the nonce was used before. */
  take(nonce: string, timestamp: number): boolean;
}

/**
 * Creates the store of used nonces, in memory. Calls from before a restart are refused by their timestamp: it is earlier than the start, or,
 * if the sender's clock is ahead of ours, at most the latest one in `file`.
 */
export function createUsedNonces({ clock, file }: { clock: Clock; file?: string | undefined }): UsedNonces {
  const used = new Map<string, number>();
  let latest = file === undefined ? 0 : readTimestamp(file);
  const signedFrom = Math.max(clock.now(), latest + 1);
  return {
    signedFrom,
    take: (nonce, timestamp) => {
      const now = clock.now();
      for (const [old, at] of used) {
        // The map is in order of arrival: after the first nonce that is young enough, all are younger.
        if (at > now - 2 * CLOCK_MS_MAX && used.size < NONCES_MAX) break;
        used.delete(old);
      }
      if (used.has(nonce)) return false;
      used.set(nonce, now);
      if (file !== undefined && timestamp > Math.max(now, latest)) {
        latest = timestamp;
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, String(timestamp));
      }
      return true;
    },
  };
}

function readTimestamp(file: string): number {
  try {
    return Number(readFileSync(file, "utf8")) || 0;
  } catch (thrown) {
    if ((thrown as { code?: unknown }).code === "ENOENT") return 0;
    throw thrown;
  }
}

/** A call with a valid signature. Its body is compared with the signed hash while it arrives. */
export interface SignedCall {
  hash(chunk: Uint8Array): void;
  /** Call it when the body has arrived, before anything is answered. */
  requireSameBody(): void;
}

/** What checking a signature needs. */
export interface SignatureDeps {
  readonly settings: { readonly secret?: string | undefined; readonly token?: string | undefined };
  readonly nonces: UsedNonces;
  readonly clock: Clock;
}

/** Refuses every unsigned call of a node with a secret, unless the node has a token, too, which requireAccess has checked by now. */
export function requireSignature(deps: SignatureDeps): RequestHandler {
  return (request, _response, next) => {
    if (deps.settings.token === undefined) signedCall(request, deps);
    next();
  };
}

const checked = new WeakMap<Request, SignedCall>();

/** The signature that requireSignature has checked; undefined if the call did not need one so far. */
export function checkedSignature(request: Request): SignedCall | undefined {
  return checked.get(request);
}

/** Checks the signature of a call, once. Undefined if the node has no secret and accepts unsigned calls. */
export function signedCall(request: Request, { settings: { secret }, nonces, clock }: SignatureDeps): SignedCall | undefined {
  if (secret === undefined) return undefined;
  const known = checked.get(request);
  if (known) return known;
  const { method, originalUrl: path, headers } = request;
  const header = (name: keyof typeof SIGNATURE_HEADERS): string => String(headers[SIGNATURE_HEADERS[name]] ?? "");
  const [given, nonce, timestamp, bodySha256] = [header("signature"), header("nonce"), header("timestamp"), header("bodySha256")];
  if (given.startsWith("v1="))
    throw refused(
      "The signature has version 1, which does not cover the headers of a call. Update the coordinator to one that signs with version 2.",
    );
  if (!isSame(given, signatureOf(secret, { method, path, timestamp, nonce, headers, bodySha256 })))
    throw refused(
      "The signature of this call is missing or wrong. The node's TRAINER_SECRET must equal the secret of this node at /training/nodes, or of the participant in its federation. Callers that cannot sign need a TRAINER_TOKEN.",
    );
  if (!/^\d{1,15}$/.test(timestamp) || Math.abs(clock.now() - Number(timestamp)) > CLOCK_MS_MAX) {
    throw refused(
      `The timestamp of the call differs from this node's clock by more than ${CLOCK_MS_MAX / 1000} s. Synchronize the clocks.`,
    );
  }
  const earlyMs = nonces.signedFrom - Number(timestamp);
  if (earlyMs > 0)
    throw refused("The call was signed before this node started. Sign it again.", { retryAfterSeconds: Math.ceil(earlyMs / 1000) });
  if (!nonces.take(nonce, Number(timestamp))) throw refused("The nonce of this call was used before.");
  const body = createHash("sha256");
  const call: SignedCall = {
    hash: (chunk) => void body.update(chunk),
    requireSameBody: () => {
      if (body.digest("hex") !== bodySha256) throw refused("The body is not the one that was signed.");
    },
  };
  checked.set(request, call);
  return call;
}

function isSame(given: string, expected: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

function refused(message: string, options?: { retryAfterSeconds: number }): TrainerError {
  return new TrainerError("UNAUTHORIZED", message, options);
}
