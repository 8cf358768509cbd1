import type { Clock } from "../../common/clock.ts";
import { type CallNode, type NodeAddress, readAnswer } from "./participants/node-call.ts";
import { ParticipantProblem } from "./participants/participant-problem.ts";

const HEALTH_BYTES_MAX = 64 * 1024;
/** Looks within the time after which a participant is gone: one that is lost on the way does not end hours of training. */
const LOOKS = 4;

/**
 * Calls of work to our nodes, which may take as long as the round has: while one is at work it is asked now and then whether it is there. Of
 * which nothing is heard for `idleMs`, neither a byte nor a beat, is gone, and is asked again rather than waited for. Programs of others may
 * be able to do one thing at a time only; they are waited for until the deadline.
 */
export function withHeartbeat(call: CallNode, { clock, idleMs }: { clock: Clock; idleMs: number }): CallNode {
  return async (node, request, signal) => {
    if (request.method !== "POST" || !request.path.startsWith("/v1/")) return call(node, request, signal);
    const gone = new AbortController();
    const answered = new AbortController();
    const listening = listen(
      { call, clock, idleMs },
      { node, lose: () => gone.abort(), until: AbortSignal.any([signal, answered.signal]) },
    );
    try {
      return await call(node, request, AbortSignal.any([signal, gone.signal]));
    } catch (thrown) {
      signal.throwIfAborted();
      if (!gone.signal.aborted) throw thrown;
      throw new ParticipantProblem(`nothing was heard of it for ${idleMs} ms`, { again: true, cause: thrown });
    } finally {
      answered.abort();
      await listening;
    }
  };
}

async function listen(
  { call, clock, idleMs }: { call: CallNode; clock: Clock; idleMs: number },
  { node, lose, until }: { node: NodeAddress; lose: () => void; until: AbortSignal },
): Promise<void> {
  const lookMs = idleMs / LOOKS;
  let heardMs = clock.monotonicMs();
  for (;;) {
    await clock.sleep(lookMs, until).catch(() => {});
    if (until.aborted) return;
    const inTime = AbortSignal.any([until, AbortSignal.timeout(lookMs)]);
    const isThere = await look(call, node, inTime);
    if (until.aborted) return;
    if (isThere) heardMs = clock.monotonicMs();
    else if (clock.monotonicMs() - heardMs >= idleMs) return lose();
  }
}

/** Any answer will do: whoever can refuse is there. */
async function look(call: CallNode, node: NodeAddress, signal: AbortSignal): Promise<boolean> {
  try {
    await readAnswer(await call(node, { method: "GET", path: "/health" }, signal), HEALTH_BYTES_MAX);
    return true;
  } catch {
    return false;
  }
}
