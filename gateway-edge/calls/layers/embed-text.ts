import { abortSignalOf, type CancelSignal } from "../../../common/cancel.ts";
import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import { newId } from "../../../common/ids.ts";
import type { Logger } from "../../../common/logger.ts";
import type { Random } from "../../../common/random.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { gatewayErrorStatus } from "../gateway-error.ts";
import { embeddingsJob } from "../inference/jobs/embeddings.ts";
import { NO_ROUTING } from "../inference/route-request.ts";
import type { RunCall } from "../inference/run-call.ts";

/** The vector of a text; undefined: it failed or took too long. Never throws. */
export type EmbedText = (
  asked: { readonly model: string; readonly text: string },
  call: { readonly callId: string; readonly caller: Caller; readonly signal: CancelSignal },
) => Promise<readonly number[] | undefined>;

interface EmbedTextDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly timeoutMs: number;
  /** Embedding models that cannot be used, and why. */
  readonly problems: Map<string, string>;
}

/** Organizations choose models too. */
const PROBLEMS_MAX = 100;

/**
 * A separate call with its own row, billed to the caller. The operator or the organization chose the model, so the key's model list does not apply.
 * It is part of a call that has its reservation, so no rate limit counts it.
 * Another model's vectors cannot be compared, so there are no fallbacks.
 */
export function embedWith(run: RunCall, deps: EmbedTextDeps): EmbedText {
  const { clock, logger, timeoutMs } = deps;
  return async ({ model, text }, { callId, caller, signal }) => {
    const deadline = new AbortController();
    const cancel = clock.after(timeoutMs, () => deadline.abort(new Error(`no vector within ${timeoutMs} ms`)));
    const over = new Promise<never>((_, reject) => {
      deadline.signal.addEventListener("abort", () => reject(deadline.signal.reason));
    });
    try {
      const call = run({
        callId: newId("call", deps),
        endpoint: "/v1/embeddings",
        caller: { ...caller, models: undefined, teamModels: undefined, logContent: false },
        job: embeddingsJob({ request: { model, input: text }, input: [text] }),
        routing: { ...NO_ROUTING, disableFallbacks: true },
        signal: AbortSignal.any([abortSignalOf(signal), deadline.signal]),
        errorStatus: gatewayErrorStatus,
        isUncounted: true,
      });
      const result = await Promise.race([call, over]);
      const [vector] = result.type === "answer" && result.head.fallbacks === 0 ? result.answer.vectors : [];
      deps.problems.delete(model);
      return vector && vector.length > 0 ? vector : undefined;
    } catch (error) {
      noteUnusable(deps, { model, error });
      logger.debug({ error: String(error), callId, model }, "the semantic cache has no vector; the call goes on without it");
      return undefined;
    } finally {
      cancel();
    }
  };
}

/** A model that does not exist, has no price or makes no vectors: every call would fail until someone changes it. */
function noteUnusable({ problems, logger }: EmbedTextDeps, { model, error }: { model: string; error: unknown }): void {
  if (!(error instanceof AppError) || (error.code !== "MODEL_NOT_FOUND" && error.code !== "INVALID_REQUEST")) return;
  if (problems.has(model) || problems.size >= PROBLEMS_MAX) return;
  problems.set(model, error.message);
  logger.warn(
    { model, reason: error.message },
    "the semantic cache cannot use its embedding model; it compares no texts until that is changed",
  );
}
