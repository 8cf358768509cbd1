import type { RoundRecord } from "../../../common/round-record.ts";
import type { Participant, Round, RoundParticipant } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { ClientFigures } from "../aggregation.ts";
import type { FederationRun } from "../deps.ts";
import type { UnmaskedSum } from "../secure/combine-masked.ts";
import type { Collection } from "../updates/collect-updates.ts";

/** How rounds run under one privacy mode. What the mode asks of participants and settings is in common/privacy-rules.ts. */
export interface PrivacyMode {
  /** Throws ParticipantProblem where a participant cannot be asked for this mode's updates now. */
  reach(run: FederationRun, participant: Participant, signal: AbortSignal): Promise<void>;
  /** The round after its updates were collected; undefined where none was recorded. */
  collect(run: FederationRun, collection: Collection): Promise<Round | undefined>;
  /** The round's result from its stored updates. Without noise, the same updates give the same bytes. */
  combine(run: FederationRun, round: number, accepted: readonly RoundParticipant[]): Promise<CombinedRound>;
  /** The result where the coordinator has the mean alone. */
  combineSum(run: FederationRun, round: number, sum: UnmaskedSum): Promise<CombinedRound>;
  /** After the commit: removes what only the running round needed. */
  finish(run: FederationRun, round: number): Promise<void>;
}

export interface CombinedRound {
  readonly record: RoundRecord;
  /** What the strategy carries to the next round; "" for nothing. */
  readonly stateBlob: string;
  /** By participant. */
  readonly figures: ReadonlyMap<string, ClientFigures>;
}
