import { pause, untilBeatMs } from "../../common/clock.ts";
import { laneOf, revisionOf } from "../../common/feed-place.ts";
import { AlertEvaluator } from "../alerts/evaluate.ts";
import { ROTATION_STEP_MS, type RootSecretRotation } from "../crypto/rotate-root-secret.ts";
import { ANCHOR_SLOT } from "../domain/anchors.ts";
import { UnpricedModels } from "../services/catalog/unpriced-models.ts";
import type { ControlDeps } from "../services/deps.ts";
import { endOfFeed } from "../stores/feed-lanes.ts";
import { collect } from "../stores/page.ts";
import type { Transaction } from "../stores/store.ts";
import { Deliverer } from "../webhooks/deliver.ts";
import { expandNotices } from "../webhooks/expand-notices.ts";
import { anchorHeads } from "../writes/anchors.ts";
import { appendChange } from "../writes/feed.ts";
import { backUpWhenDue } from "./back-up.ts";
import { checkpointWhenDue } from "./checkpoint-ledger.ts";
import { deliverOutbox } from "./deliver-outbox.ts";
import { removeExpired, removeWhile } from "./remove-expired.ts";
import { removeOldRecords } from "./remove-records.ts";

type Deps = Pick<
  ControlDeps,
  | "store"
  | "clock"
  | "random"
  | "logger"
  | "reservations"
  | "counted"
  | "config"
  | "gateway"
  | "secrets"
  | "mailer"
  | "sendWebhook"
  | "backups"
  | "archiver"
  | "auditArchiver"
  | "verifications"
>;

/** A recurring job. Missing a run is safe, and so is running on several control planes at once. */
type Job = (now: number, deps: Deps) => Promise<void>;

/** Starts the recurring jobs of the control plane. Returns the function that stops them. */
export function startJobs(deps: Deps, rotation: Pick<RootSecretRotation, "step" | "leave">): () => Promise<void> {
  const stop = new AbortController();
  const deliverer = new Deliverer(deps);
  const unpriced = new UnpricedModels(deps);
  const loops = [
    every(1000, announcePrices(deps.clock.now()), deps, stop.signal),
    every(60_000, removeExpired, deps, stop.signal),
    every(60_000, removeOldRecords, deps, stop.signal),
    every(60_000, pruneFeed, deps, stop.signal),
    every(60_000, backUpWhenDue, deps, stop.signal),
    every(
      3_600_000,
      async function archiveUsage(now) {
        await deps.archiver.run(now, stop.signal);
      },
      deps,
      stop.signal,
    ),
    every(
      3_600_000,
      async function archiveAudit(now) {
        await deps.auditArchiver.run(now, stop.signal);
      },
      deps,
      stop.signal,
    ),
    every(
      600_000,
      async function checkpointLedger(now) {
        await checkpointWhenDue(now, deps, stop.signal);
      },
      deps,
      stop.signal,
    ),
    every(
      1000,
      async function watchGatewayConfig() {
        await deps.gateway.check();
        await unpriced.check();
      },
      deps,
      stop.signal,
    ),
    every(1000, anchorLedger, deps, stop.signal),
    every(1000, deliverOutbox, deps, stop.signal),
    every(10_000, async () => void deps.reservations.expire(), deps, stop.signal),
    every(10_000, async () => deps.counted.expire(), deps, stop.signal),
    every(
      ROTATION_STEP_MS,
      async function rotateRootSecret(now) {
        await rotation.step(now);
      },
      deps,
      stop.signal,
    ),
    every(30_000, judgeAlerts(deps, stop.signal), deps, stop.signal),
    every(
      1000,
      async function deliver() {
        await expandNotices(deps);
        await deliverer.begin();
      },
      deps,
      stop.signal,
    ),
  ];
  return async () => {
    stop.abort();
    await Promise.all(loops);
    await deliverer.idle();
    await rotation.leave();
  };
}

async function every(intervalMs: number, job: Job, deps: Deps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await job(deps.clock.now(), deps);
    } catch (error) {
      deps.logger.warn({ job: job.name, error: String(error) }, "a job failed; it runs again at the next interval");
    }
    await pause(deps.clock, untilBeatMs(deps.clock, intervalMs), signal);
  }
}

function judgeAlerts(deps: Deps, signal: AbortSignal): Job {
  const alerts = new AlertEvaluator(deps);
  return async function judgeAlerts() {
    await alerts.run(signal);
  };
}

/** Appends a feed row when the time of a scheduled price has come, so that edges load it. */
function announcePrices(startedAt: number): Job {
  let announcedUntil = startedAt;
  return async function announcePrices(now, { store }) {
    const due = await collect(store.scan("prices", { index: "byEffectiveAt", from: announcedUntil, before: now }));
    const later = due.filter((price) => price.effectiveAt > price.createdAt);
    if (later.length > 0) {
      await store.transaction("catalog", async (tx) => {
        for (const { modelId } of later) await appendChange(tx, { kind: "catalog", subject: modelId }, now);
      });
    }
    announcedUntil = now;
  };
}

const anchorLedger: Job = async (_now, { store, clock }) => {
  if (store.owns(ANCHOR_SLOT)) await anchorHeads(store, () => clock.now());
};

/** Retains the newest rows of each lane. An edge that was away for longer has to resync. */
const pruneFeed: Job = async (_now, { store, config }) => {
  for (const newest of (await endOfFeed(store)).revisions) {
    const [from, before] = [revisionOf(laneOf(newest), 0), newest - config.feedRowsKept + 1];
    const remove = (tx: Transaction, id: number) => tx.remove("feed", id);
    if (before > from) await removeWhile(store, { collection: "feed", range: { from, before }, remove });
  }
};
