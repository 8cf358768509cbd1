import type { RoundRecord } from "../../../common/training/round-record.ts";
import type { Participant, Round, RoundParticipant } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { ClientFigures } from "../aggregation.ts";
import type { FederationRun } from "../deps.ts";
import type { UnmaskedSum } from "../secure/combine-masked.ts";
import type { Collection } from "../updates/collect-updates.ts";

/** How rounds run under one privacy mode. common/training/privacy-rules.ts has the mode's requirements on participants and settings. */
export interface PrivacyMode {
  /** Throws ParticipantProblem if a participant cannot provide updates for this mode now. */
  reach(run: FederationRun, participant: Participant, signal: AbortSignal): Promise<void>;
  /** Collects updates and returns the round; undefined if none was recorded. */
  collect(run: FederationRun, collection: Collection): Promise<Round | undefined>;
  /** Makes the round's result from its stored updates. Without noise, the same updates give the same bytes. */
  combine(run: FederationRun, round: number, accepted: readonly RoundParticipant[]): Promise<CombinedRound>;
  /** Makes the result if the coordinator has only the mean. */
  combineSum(run: FederationRun, round: number, sum: UnmaskedSum): Promise<CombinedRound>;
  /** Removes what only the running round needed, after its commit. */
  finish(run: FederationRun, round: number): Promise<void>;
}

/** The result of a round before its commit. */
export interface CombinedRound {
  readonly record: RoundRecord;
  /** The blob of the strategy's state for the next round; "" for none. */
  readonly stateBlob: string;
  /** What the sum of the updates was divided by, if not by their number. */
  readonly divisor?: number | undefined;
  /** Reports by participant. */
  readonly figures: ReadonlyMap<string, ClientFigures>;
}
