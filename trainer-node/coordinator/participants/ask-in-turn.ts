import { pause } from "../../../common/clock.ts";
import type { Participant } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { FederationRun } from "../deps.ts";
import { ParticipantProblem } from "./participant-problem.ts";
import { createSlots, type Slots, takeSlot } from "./slots.ts";

const RETRY_MS = { first: 200, max: 5000 };

/** The problem of a participant that missed the deadline. */
export const LATE = "it had not answered when the round was closed";

/** One step of a round that participants are asked for. */
export interface Step<Answer> {
  /** Aborts when no more answers are needed. Participants without an answer then have the problem `LATE`. */
  readonly inTime: AbortSignal;
  ask(participant: Participant): Promise<Answer>;
  /** Whether a participant with this problem is not asked again after so many calls. */
  isOver(participant: Participant, problem: ParticipantProblem, tries: number): boolean;
  settle(participant: Participant, result: Answer | ParticipantProblem, durationMs: number): Promise<void>;
}

/**
 * Asks participants concurrently, within the limit on calls, and settles the result of each. Unreachable and busy participants are asked
 * again. They hold no slot until then, and queue behind those that have not been asked, so that they cannot keep the others from their turn.
 */
export async function askInTurn<Answer>(run: FederationRun, participants: readonly Participant[], step: Step<Answer>): Promise<void> {
  const { clock, callsMax } = run.deps;
  const calls = createSlots(callsMax);
  // Answers that hold no slot for calls are recorded within the same limit.
  const records = createSlots(callsMax);
  const askUntilSettled = async (participant: Participant): Promise<void> => {
    let begunMs: number | undefined;
    for (let tries = 1; ; tries++) {
      const release = await takeSlot(run.deps, calls, participant);
      try {
        begunMs ??= clock.monotonicMs();
        const result = await askOnce(run, step, participant);
        const delayMs = untilNextCall(step, participant, { result, tries });
        if (delayMs === undefined) {
          const durationMs = clock.monotonicMs() - begunMs;
          await within(records, () => step.settle(participant, result, durationMs));
          return;
        }
        release();
        await pause(clock, delayMs, step.inTime);
      } finally {
        release();
      }
    }
  };
  await Promise.all(participants.map(askUntilSettled));
}

/** The answer, or the reason why there is none. */
async function askOnce<Answer>(
  { signal }: FederationRun,
  { inTime, ask }: Step<Answer>,
  participant: Participant,
): Promise<Answer | ParticipantProblem> {
  try {
    inTime.throwIfAborted();
    const answer = await ask(participant);
    signal.throwIfAborted();
    return answer;
  } catch (thrown) {
    signal.throwIfAborted();
    if (inTime.aborted) return new ParticipantProblem(LATE, { again: false });
    if (thrown instanceof ParticipantProblem) return thrown;
    throw thrown;
  }
}

/** How long to wait before the participant is asked again; undefined if its result is final. */
function untilNextCall<Answer>(
  { isOver }: Step<Answer>,
  participant: Participant,
  { result, tries }: { result: Answer | ParticipantProblem; tries: number },
): number | undefined {
  if (!(result instanceof ParticipantProblem) || !result.again || isOver(participant, result, tries)) return undefined;
  return result.retryAfterMs ?? Math.min(RETRY_MS.max, RETRY_MS.first * 2 ** (tries - 1));
}

async function within(slots: Slots, work: () => Promise<void>): Promise<void> {
  const release = await slots.take();
  try {
    await work();
  } finally {
    release();
  }
}
