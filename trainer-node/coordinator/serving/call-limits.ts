import type { Clock } from "../../../common/clock.ts";
import { TrainerError } from "../../errors.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";

/** Calls that run at the same time, and the bytes of their bodies. */
interface Load {
  readonly calls: number;
  readonly bytes: number;
}

/** Admits calls while there is room for them. */
export interface CallLimits {
  /** Counts a call until the returned function is called. Throws BUSY when the federation's calls, or all calls, take all the room. */
  enter(federationId: string, bytes: number): () => void;
}

const MIB = 1024 * 1024;
const OF_FEDERATION: Load = { calls: 32, bytes: 32 * MIB };
const OF_ALL: Load = { calls: 256, bytes: 128 * MIB };
const NONE: Load = { calls: 0, bytes: 0 };

/** Limits of calls to serve functions: the coordinator that passes them on also runs the rounds of all organizations. */
export function createCallLimits({ ofFederation = OF_FEDERATION, ofAll = OF_ALL } = {}): CallLimits {
  const running = new Map<string, Load>();
  let all = NONE;
  const count = (federationId: string, calls: number, bytes: number): void => {
    const before = running.get(federationId) ?? NONE;
    all = { calls: all.calls + calls, bytes: all.bytes + bytes };
    if (before.calls + calls === 0) running.delete(federationId);
    else running.set(federationId, { calls: before.calls + calls, bytes: before.bytes + bytes });
  };
  return {
    enter: (federationId, bytes) => {
      requireRoom("of this model", { load: running.get(federationId) ?? NONE, max: ofFederation, bytes });
      requireRoom("of all models", { load: all, max: ofAll, bytes });
      count(federationId, 1, bytes);
      return () => count(federationId, -1, -bytes);
    },
  };
}

function requireRoom(whose: string, { load, max, bytes }: { load: Load; max: Load; bytes: number }): void {
  if (load.calls < max.calls && load.bytes + bytes <= max.bytes) return;
  const message = `${load.calls} calls ${whose} with ${load.bytes} bytes are running; at most ${max.calls} calls and ${max.bytes} bytes may.`;
  throw new TrainerError("BUSY", message, { retryAfterSeconds: 5 });
}

const UPLOADS_MAX = 3;
const UPLOADS_MS = 60_000;
const UPLOADS_KNOWN_MAX = 1000;

/**
 * Counts how often a node gets the same parameters. Throws ParticipantProblem for one that asks again and again, because each call would send
 * it the whole model.
 */
export function createUploadLimit(clock: Clock): (key: string) => void {
  const known = new Map<string, { readonly untilMs: number; readonly count: number }>();
  return (key) => {
    const nowMs = clock.monotonicMs();
    const entry = known.get(key);
    const { untilMs, count } = entry && entry.untilMs > nowMs ? entry : { untilMs: nowMs + UPLOADS_MS, count: 0 };
    if (count >= UPLOADS_MAX)
      throw new ParticipantProblem(`it was sent the parameters ${count} times within a minute and does not keep them`, { again: true });
    if (known.size >= UPLOADS_KNOWN_MAX) known.clear();
    known.set(key, { untilMs, count: count + 1 });
  };
}
