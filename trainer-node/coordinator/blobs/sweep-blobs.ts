import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, pause } from "../../../common/clock.ts";
import { orElse } from "../../../common/ignore.ts";
import type { Logger } from "../../../common/logger.ts";
import type { TrainingClient } from "../control.ts";
import { dropOldPlans } from "../secure/plan.ts";
import type { BlobFolder } from "./blob-folder.ts";

const CALL_MS = 10_000;
const PAGE = 1000;
/** Largest difference between the control plane's clock and this machine's. */
const CLOCK_MS_MAX = 600_000;
const BLOB = /^[0-9a-f]{64}$/;
/** Files that a process left when it was killed while writing. */
const GONE = "removed meanwhile";
const PARTIAL = /^\.partial-/;

/** What a sweep of the blob folder needs. */
export interface Sweep {
  readonly blobs: Pick<BlobFolder, "folder" | "owners">;
  readonly client: Pick<TrainingClient, "listBlobUses">;
  readonly clock: Clock;
  /** Younger blobs stay, because a round may be about to refer to them. */
  readonly ageMs: number;
}

/**
 * Removes blobs without a reference from a committed round, a head, an open round or a published version. Blobs that are newer than the
 * oldest open round stay, too, because a result is referred to only when its round is committed. Returns the names of the removed blobs.
 */
export async function sweepBlobs(sweep: Sweep, signal: AbortSignal): Promise<string[]> {
  const { blobs, clock, ageMs } = sweep;
  const unused = await olderThan(blobs.folder, clock.now() - ageMs);
  if (unused.size === 0) return [];
  // References are read after the folder: a blob that is stored again meanwhile has a new modification time.
  const oldestWorkMs = await takeUsed(sweep, unused, signal);
  const cutMs = Math.min(clock.now() - ageMs, oldestWorkMs - CLOCK_MS_MAX);
  const removed: string[] = [];
  for (const name of unused) {
    const path = join(blobs.folder, name);
    const found = await orElse(stat(path), undefined, GONE);
    // What a tenant uploaded stays until the tenant deletes it.
    if (!found || found.mtimeMs > cutMs || blobs.owners.isOwned(name, "stored")) continue;
    await rm(path, { force: true });
    blobs.owners.forget(name);
    removed.push(name);
  }
  return removed;
}

async function olderThan(folder: string, cutMs: number): Promise<Set<string>> {
  const old = new Set<string>();
  for (const name of await readdir(folder)) {
    if (!BLOB.test(name) && !PARTIAL.test(name)) continue;
    const found = await orElse(stat(join(folder, name)), undefined, GONE);
    if (found && found.mtimeMs <= cutMs) old.add(name);
  }
  return old;
}

/** Deletes referenced names from the set. Returns when the oldest round in progress was opened, or infinity if there is none. */
async function takeUsed({ client }: Sweep, names: Set<string>, signal: AbortSignal): Promise<number> {
  let oldestMs = Number.POSITIVE_INFINITY;
  let after = "";
  do {
    const page = await client.listBlobUses({ after, limit: PAGE }, { deadlineMs: CALL_MS, signal });
    for (const sha256 of page.blobs) names.delete(sha256);
    if (page.oldestWorkAt) oldestMs = Math.min(oldestMs, page.oldestWorkAt.getTime());
    after = page.next;
  } while (after !== "");
  return oldestMs;
}

/** Sweeps at an interval until it is stopped. */
export function startSweeping(sweep: Sweep & { everyMs: number; logger: Logger }): { stop(): Promise<void> } {
  const { clock, logger, everyMs } = sweep;
  const stopping = new AbortController();
  const loop = (async () => {
    for (;;) {
      await pause(clock, everyMs, stopping.signal);
      if (stopping.signal.aborted) return;
      try {
        await dropOldPlans(sweep.blobs, clock.now());
        const removed = await sweepBlobs(sweep, stopping.signal);
        if (removed.length > 0) logger.info({ blobs: removed.length }, "unreferenced blobs were removed");
      } catch (thrown) {
        logger.warn({ error: String(thrown) }, "sweeping the blob folder failed; the next sweep tries again");
      }
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await loop;
    },
  };
}
