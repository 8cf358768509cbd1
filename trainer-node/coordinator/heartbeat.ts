import { type Clock, pause } from "../../common/clock.ts";
import { type CallNode, type NodeAddress, readAnswer } from "./participants/node-call.ts";
import { ParticipantProblem } from "./participants/participant-problem.ts";

const HEALTH_BYTES_MAX = 64 * 1024;
/** Probes within `idleMs`, so that one lost probe does not end hours of training. */
const PROBES = 4;

/**
 * Adds heartbeats to calls of our own nodes, which may take as long as the round: a working node is probed regularly. If neither a byte nor
 * a probe's answer comes for `idleMs`, the node is considered lost and the call is repeated instead of waited for. Other participants may
 * handle one request at a time only, so their calls are waited for until the deadline.
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
      throw new ParticipantProblem(`it sent no byte and answered no health check for ${idleMs} ms`, { again: true, cause: thrown });
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
  const probeMs = idleMs / PROBES;
  let lastAnswerMs = clock.monotonicMs();
  for (;;) {
    await pause(clock, probeMs, until);
    if (until.aborted) return;
    const inTime = AbortSignal.any([until, AbortSignal.timeout(probeMs)]);
    const isThere = await probe(call, node, inTime);
    if (until.aborted) return;
    if (isThere) lastAnswerMs = clock.monotonicMs();
    else if (clock.monotonicMs() - lastAnswerMs >= idleMs) return lose();
  }
}

/** Any answer is a sign of life, an error, too. */
async function probe(call: CallNode, node: NodeAddress, signal: AbortSignal): Promise<boolean> {
  try {
    await readAnswer(await call(node, { method: "GET", path: "/health" }, signal), HEALTH_BYTES_MAX);
    return true;
  } catch {
    return false;
  }
}
