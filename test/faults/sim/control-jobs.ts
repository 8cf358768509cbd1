import { ANCHOR_SLOT } from "../../../control-plane/domain/anchors.ts";
import { deliverOutbox } from "../../../control-plane/jobs/deliver-outbox.ts";
import { removeExpired } from "../../../control-plane/jobs/remove-expired.ts";
import { anchorHeads } from "../../../control-plane/writes/anchors.ts";
import type { ControlCore } from "./control-core.ts";
import type { World } from "./world.ts";

const SWEEP_MS = 20_000;
const JOB_MS = 1_000;

/** The jobs of a control plane that concern money. They end with its process. */
export function startJobs(world: World, core: ControlCore): void {
  const { store, process } = core;
  void every(world, core, { intervalMs: SWEEP_MS, job: () => removeExpired(process.clock.now(), { store }) });
  // A store with one slot has no outbox, and its one chain needs no anchor.
  if (!world.isShared) return;
  const deliver = world.mutant.outbox ?? deliverOutbox;
  void every(world, core, { intervalMs: JOB_MS, job: () => deliver(process.clock.now(), { store, logger: world.logger }) });
  void every(world, core, { intervalMs: JOB_MS, job: () => anchor(core) });
}

async function every(world: World, { process }: ControlCore, { intervalMs, job }: { intervalMs: number; job: () => Promise<void> }) {
  for (;;) {
    await process.pollClock.sleep(intervalMs);
    try {
      await job();
    } catch (error) {
      world.logger.debug({ error: String(error) }, "a job failed; it runs again at the next interval");
    }
  }
}

async function anchor({ store, process }: ControlCore): Promise<void> {
  if (store.owns(ANCHOR_SLOT)) await anchorHeads(store, () => process.clock.now());
}
