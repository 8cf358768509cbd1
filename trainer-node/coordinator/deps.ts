import type { Clock } from "../../common/clock.ts";
import type { FederationSettings } from "../../common/federation-settings.ts";
import type { Logger } from "../../common/logger.ts";
import type { Random } from "../../common/random.ts";
import type { SecureAggregation } from "../../common/secure-settings.ts";
import type { Federation, Participant } from "../../proto/gen/tributary/training/v1/training.ts";
import type { Aggregation } from "./aggregation.ts";
import type { BlobFolder } from "./blobs/blob-folder.ts";
import type { FederationControl } from "./control.ts";
import type { Participants } from "./participants/participants.ts";
import type { SecureTools } from "./secure/unmasking.ts";

/** What the work on federations needs; main.ts assembles it, once. */
export interface CoordinatorDeps {
  readonly participants: Participants;
  readonly aggregation: Aggregation;
  readonly blobs: BlobFolder;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Absent where participants are not called over HTTP. */
  readonly secure?: SecureTools | undefined;
  /** At the same time, for each federation. */
  readonly callsMax: number;
}

/** One federation while it is worked on. */
export interface FederationRun {
  readonly deps: CoordinatorDeps;
  readonly control: FederationControl;
  readonly settings: FederationSettings;
  /** Those that can be called. */
  readonly members: readonly Participant[];
  /** Aborts when the work is not ours any more. */
  readonly signal: AbortSignal;
  /** As the control plane last said. */
  readonly federation: Federation;
}

/** Of a federation that asks for secure aggregation. */
export function requireSecure({ deps, settings }: FederationRun): SecureTools & { settings: SecureAggregation } {
  const { secureAggregation } = settings;
  if (!deps.secure || !secureAggregation) throw new FederationFailed("VALIDATION_ERROR", "This coordinator does no secure aggregation.");
  return { ...deps.secure, settings: secureAggregation };
}

/** The federation cannot go on, and why: for people. */
export class FederationFailed extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "FederationFailed";
    this.code = code;
  }
}
