import { inabilityOf, needsOf } from "../../../common/training/federation-needs.ts";
import type { Participant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { FederationFailed, type FederationRun } from "../deps.ts";
import { ParticipantProblem } from "./participant-problem.ts";

/**
 * Throws FederationFailed if a participant lacks a capability that the federation's privacy or strategy needs, and ParticipantProblem if
 * its capabilities cannot be read now. Masks have a check of their own (secure/participants.ts).
 */
export async function requireCapabilities({ deps, settings }: FederationRun, participant: Participant, signal: AbortSignal): Promise<void> {
  const needed = needsOf(settings).filter((need) => need !== "mask");
  if (needed.length === 0) return;
  const able = await deps.participants.capabilities(participant, signal);
  const inability = inabilityOf(new Set([...able, "mask"]), settings);
  if (inability === undefined) return;
  const { id, url } = participant;
  throw new FederationFailed("VALIDATION_ERROR", `Participant ${id} (${url}) ${inability}.`);
}

/**
 * Checks all participants that can be reached now, before a round is opened and its privacy budget is spent. The others are checked with
 * their first work.
 */
export async function requireAllCapabilities(run: FederationRun, participants: readonly Participant[]): Promise<void> {
  const { deps, settings, signal } = run;
  if (needsOf(settings).length === 0) return;
  const waiting = [...participants];
  const worker = async (): Promise<void> => {
    for (let participant = waiting.shift(); participant; participant = waiting.shift()) {
      await requireCapabilities(run, participant, signal).catch((thrown: unknown) => {
        signal.throwIfAborted();
        if (!(thrown instanceof ParticipantProblem)) throw thrown;
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(deps.callsMax, waiting.length) }, worker));
}
