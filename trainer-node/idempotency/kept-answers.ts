import type { Clock } from "../../common/clock.ts";
import { TrainerError } from "../errors.ts";
import type { BodyType } from "../operations/call-body.ts";
import type { ComputeAnswer } from "../pool/pool.ts";

/** What a call with an Idempotency-Key ended with. */
export type KeptResult =
  | { readonly type: "answer"; readonly answer: ComputeAnswer; readonly answerType: BodyType }
  | { readonly type: "job"; readonly id: string };

interface Kept {
  readonly fingerprint: string;
  readonly result: KeptResult;
  readonly atMs: number;
}

/** The answers of calls that had a key, for those who ask again. A call that failed is forgotten, so that it can be tried again. */
export interface KeptAnswers {
  /** The finished call of that key, or undefined after taking the key for this one. Throws where a call of that key is still at work. */
  take(key: string): Kept | undefined;
  finish(key: string, fingerprint: string, result: KeptResult): void;
  fail(key: string): void;
}

const KEEP_MS = 24 * 3_600_000;
const RUNNING_RETRY_SECONDS = 2;

export function createKeptAnswers(options: { clock: Clock; keysMax: number; bytesMax: number }): KeptAnswers {
  const { clock, keysMax, bytesMax } = options;
  const running = new Set<string>();
  const kept = new Map<string, Kept>();
  let bytes = 0;

  const forget = (key: string): void => {
    const found = kept.get(key);
    if (!found) return;
    bytes -= bytesOf(found.result);
    kept.delete(key);
  };
  const forgetOld = (): void => {
    for (const [key, { atMs }] of kept) {
      if (kept.size <= keysMax && bytes <= bytesMax && clock.monotonicMs() - atMs <= KEEP_MS) return;
      forget(key);
    }
  };
  return {
    take: (key) => {
      forgetOld();
      if (running.has(key)) {
        throw new TrainerError("IDEMPOTENCY_CONFLICT", "A call with this Idempotency-Key is still at work.", {
          details: { status: "running" },
          retryAfterSeconds: RUNNING_RETRY_SECONDS,
        });
      }
      const found = kept.get(key);
      if (!found) running.add(key);
      return found;
    },
    finish: (key, fingerprint, result) => {
      running.delete(key);
      kept.set(key, { fingerprint, result, atMs: clock.monotonicMs() });
      bytes += bytesOf(result);
      forgetOld();
    },
    fail: (key) => void running.delete(key),
  };
}

function bytesOf(result: KeptResult): number {
  return result.type === "answer" ? result.answer.body.byteLength + (result.answer.head?.length ?? 0) : 0;
}
