import type { Clock } from "../../common/clock.ts";
import type { Logger } from "../../common/logger.ts";
import type { Random } from "../../common/random.ts";
import type { FederationSettings } from "../../common/training/federation-settings.ts";
import type { SecureAggregation } from "../../common/training/secure-settings.ts";
import type { Federation, Participant } from "../../proto/gen/tributary/training/v1/training.ts";
import type { Aggregation } from "./aggregation.ts";
import type { BlobFolder } from "./blobs/blob-folder.ts";
import type { FederationControl } from "./control.ts";
import type { OwnSelection } from "./own-strategies/own-selection.ts";
import type { Participants } from "./participants/participants.ts";
import type { SecureTools } from "./secure/unmasking.ts";
import type { OwnControls } from "./updates/own-controls.ts";

/** Dependencies of running federations. main.ts assembles them once. */
export interface CoordinatorDeps {
  readonly participants: Participants;
  readonly aggregation: Aggregation;
  readonly blobs: BlobFolder;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Absent if participants are not called over HTTP. */
  readonly secure?: SecureTools | undefined;
  /** Absent where no federation has a selection function. */
  readonly selectByFunction?: OwnSelection | undefined;
  /** Most concurrent calls for each federation. */
  readonly callsMax: number;
}

/** One federation while it runs. */
export interface FederationRun {
  readonly deps: CoordinatorDeps;
  readonly control: FederationControl;
  readonly settings: FederationSettings;
  /** The participants, with the address that each is called at. */
  readonly members: readonly Participant[];
  /** Those of the next round, if the federation has a `selection`. */
  readonly chosen?: readonly Participant[] | undefined;
  /** Aborts when the claim is lost or the coordinator stops. */
  readonly signal: AbortSignal;
  /** The last state that the control plane returned. */
  readonly federation: Federation;
  /** When the round that runs was opened. One that is opened again after it was abandoned is another attempt. */
  readonly openedAt?: Date | undefined;
  /** Of a strategy whose participants have control variates. */
  readonly controls?: OwnControls | undefined;
}

/** The tools and settings of secure aggregation, for a federation that requires it. */
export function requireSecure({ deps, settings }: FederationRun): SecureTools & { settings: SecureAggregation } {
  const { secureAggregation } = settings;
  if (!deps.secure || !secureAggregation)
    throw new FederationFailed("VALIDATION_ERROR", "This coordinator does not support secure aggregation.");
  return { ...deps.secure, settings: secureAggregation };
}

/** The federation cannot continue. The message is for its owner. */
export class FederationFailed extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "FederationFailed";
    this.code = code;
  }
}
