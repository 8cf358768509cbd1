import { FederationFailed, type FederationRun } from "./deps.ts";
import { UNSUPPORTED } from "./updates/inspect-update.ts";

/** A round that is open, with those that it asked. */
interface AskedRound {
  readonly round: number;
  readonly participants: readonly { readonly participantId: string }[];
}

/** The failure of a federation whose round lacks updates, with the reasons of the missing participants. */
export async function notEnough(run: FederationRun, round: AskedRound, what: string): Promise<FederationFailed> {
  const reasons = await failuresOf(run, round);
  const code = reasons.includes(`${UNSUPPORTED}:`) ? UNSUPPORTED : "NOT_ENOUGH_RESULTS";
  return new FederationFailed(code, `Round ${round.round} has ${what} ${reasons}`.trim());
}

/** The reasons of participants without a result, for the federation's owner. */
async function failuresOf({ control }: FederationRun, round: AskedRound): Promise<string> {
  const { participants } = await control.openRound(round.participants.map(({ participantId }) => participantId));
  const reasons = participants.filter(({ reason }) => reason !== "").map(({ participantId, reason }) => `${participantId}: ${reason}`);
  return reasons.join("; ").slice(0, 800);
}
