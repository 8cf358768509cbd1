import type { Clock } from "../../common/clock.ts";
import { TrainerError } from "../errors.ts";
import type { BodyType } from "../operations/call-body.ts";
import type { ComputeAnswer } from "../pool/pool.ts";

/** The result of a call with an Idempotency-Key. */
export type StoredResult =
  | { readonly type: "answer"; readonly answer: ComputeAnswer; readonly answerType: BodyType }
  | { readonly type: "job"; readonly id: string };

interface StoredCall {
  readonly fingerprint: string;
  readonly result: StoredResult;
  readonly atMs: number;
}

/** Answers stored under their Idempotency-Key for repeated calls. A failed call is not stored, so that it can be tried again. */
export interface IdempotencyStore {
  /**
   * Returns the finished call of that key, or undefined after reserving the key for this call. Throws while another call with the key is
   * running.
   */
  take(key: string): StoredCall | undefined;
  finish(key: string, fingerprint: string, result: StoredResult): void;
  fail(key: string): void;
}

const KEEP_MS = 24 * 3_600_000;
const RUNNING_RETRY_SECONDS = 2;

/** Creates an idempotency store in memory with limits on keys, bytes and age. */
export function createIdempotencyStore(options: { clock: Clock; keysMax: number; bytesMax: number }): IdempotencyStore {
  const { clock, keysMax, bytesMax } = options;
  const running = new Set<string>();
  const stored = new Map<string, StoredCall>();
  let bytes = 0;

  const forget = (key: string): void => {
    const found = stored.get(key);
    if (!found) return;
    bytes -= bytesOf(found.result);
    stored.delete(key);
  };
  const forgetOld = (): void => {
    for (const [key, { atMs }] of stored) {
      if (stored.size <= keysMax && bytes <= bytesMax && clock.monotonicMs() - atMs <= KEEP_MS) return;
      forget(key);
    }
  };
  return {
    take: (key) => {
      forgetOld();
      if (running.has(key)) {
        throw new TrainerError(
          "IDEMPOTENCY_CONFLICT",
          "A call with this Idempotency-Key is still running. Retry after the time in Retry-After.",
          {
            details: { status: "running" },
            retryAfterSeconds: RUNNING_RETRY_SECONDS,
          },
        );
      }
      const found = stored.get(key);
      if (!found) running.add(key);
      return found;
    },
    finish: (key, fingerprint, result) => {
      running.delete(key);
      stored.set(key, { fingerprint, result, atMs: clock.monotonicMs() });
      bytes += bytesOf(result);
      forgetOld();
    },
    fail: (key) => void running.delete(key),
  };
}

function bytesOf(result: StoredResult): number {
  return result.type === "answer" ? result.answer.body.byteLength + (result.answer.head?.length ?? 0) : 0;
}
