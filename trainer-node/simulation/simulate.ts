import { mkdtempSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock as clock } from "../../common/clock.ts";
import type { Logger } from "../../common/logger.ts";
import { systemRandom as random } from "../../common/random.ts";
import type { Participant, Round } from "../../proto/gen/tributary/training/v1/training.ts";
import { createAggregation } from "../coordinator/aggregation.ts";
import { type BlobFolder, openBlobFolder } from "../coordinator/blobs/blob-folder.ts";
import type { FederationRun } from "../coordinator/deps.ts";
import { runFederation } from "../coordinator/run-federation.ts";
import { type Attack, withAttacks } from "./attacks.ts";
import { createMemoryControl } from "./memory-control.ts";
import { openClients } from "./open-clients.ts";
import type { SimulationOptions } from "./options.ts";

const BLOB_BYTES_MAX = 16 * 1024 ** 3;
const RECORD_BYTES = 64 * 1024 * 1024;

/** How a simulation reports and stops. */
export interface SimulationHooks {
  readonly logger: Logger;
  readonly signal: AbortSignal;
  onRound(round: Round): void;
  /** Makes some clients hostile. */
  readonly attack?: Attack | undefined;
}

/**
 * Runs a federation of virtual clients in this process. Selection, deadlines, strategies, evaluation and records are the coordinator's.
 * Only the participants are threads or Python processes, and the control plane's state is in memory. Updates are on disk until their round is committed, so
 * memory does not grow with the number of clients.
 */
export async function simulate(
  options: SimulationOptions,
  { logger, signal, onRound, attack }: SimulationHooks,
): Promise<readonly Round[]> {
  const { settings, clients } = options;
  const folder = mkdtempSync(join(tmpdir(), "tributary-simulation-"));
  const blobs = openBlobFolder({ folder, bytesMax: BLOB_BYTES_MAX, durable: false });
  const virtual = openClients(options, { blobs, logger });
  const aggregation = createAggregation({ blobs, recordBytes: RECORD_BYTES, logger });
  const participants = Array.from({ length: clients }, (_, index) => virtualParticipant(`p${index + 1}`));
  const memory = createMemoryControl({
    settings: JSON.stringify(settings),
    participants,
    now: clock.now,
    random,
    onCommitted: async (round) => {
      onRound(round);
      await forgetUpdates(blobs, round);
    },
  });
  const run: FederationRun = {
    deps: {
      participants: attack ? withAttacks(virtual.participants, attack, blobs) : virtual.participants,
      aggregation,
      blobs,
      clock,
      random,
      logger,
      callsMax: virtual.callsMax,
    },
    control: memory.control,
    settings,
    members: participants,
    signal,
    federation: memory.federation,
  };
  try {
    await runFederation(run, { isRoundOpen: false });
    return memory.rounds;
  } finally {
    await Promise.all([virtual.close(), aggregation.close()]);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Deletes the updates of a committed round. The model stays, and so do the updates' hashes in the record. */
async function forgetUpdates(blobs: BlobFolder, { participants, resultBlob }: Round): Promise<void> {
  const hashes = new Set(participants.map(({ updateBlob }) => updateBlob).filter((hash) => hash !== "" && hash !== resultBlob));
  for (const hash of hashes) await rm(join(blobs.folder, hash), { force: true });
}

const virtualParticipant = (id: string): Participant => ({
  id,
  nodeId: "",
  url: id,
  organizationId: "",
  dataset: "",
  joined: false,
  secret: "",
  token: "",
  tenantId: "",
});
