import { ANCHOR_SLOT } from "../domain/anchors.ts";
import { CHECKPOINTS } from "../domain/checkpoints.ts";
import type { ControlDeps } from "../services/deps.ts";
import { checkChains } from "../services/ledger/verify.ts";
import { writeCheckpoint } from "../writes/checkpoints.ts";

const HOUR_MS = 3_600_000;

type Deps = Pick<ControlDeps, "store" | "logger" | "verifications"> & {
  readonly config: Pick<ControlDeps["config"], "ledgerCheckpointHours">;
};

/** Verifies what was posted since the newest checkpoint, if that is old enough, and writes the next one. A ledger that is not valid gets none. */
export async function checkpointWhenDue(now: number, { store, logger, verifications, config }: Deps, signal: AbortSignal): Promise<void> {
  const hours = config.ledgerCheckpointHours;
  if (hours === 0 || !store.owns(ANCHOR_SLOT)) return;
  const last = await store.get("counters", CHECKPOINTS);
  const lastAt = last ? ((await store.get("checkpoints", last.value))?.at ?? 0) : (await store.get("anchors", 1))?.at;
  // A new ledger gets its first checkpoint when its first anchor is old enough.
  if (lastAt === undefined || now < lastAt + hours * HOUR_MS) return;
  const { newest, ledger, fault } = await checkChains(store, signal, { isFast: true });
  verifications.count({ ok: fault === undefined });
  if (fault) return logger.error({ ...fault }, "the ledger is not valid; it gets no checkpoint. Run `gw admin ledger verify`");
  const written = await writeCheckpoint(store, { newest, ...ledger, after: last?.value ?? 0 }, now);
  if (written) logger.info({ checkpoint: written.id, entries: written.entries }, "wrote a checkpoint of the ledger");
}
