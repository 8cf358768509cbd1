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

/** A place with blobs that are removed when nothing refers to them: the folder, or storage that coordinators share. */
export interface SweptPlace {
  /** The names of blobs that were stored before this time. */
  olderThan(cutMs: number): Promise<Set<string>>;
  /** Removes a blob, unless it was stored again after this time, or a tenant uploaded it: such a blob stays until the tenant deletes it. */
  remove(name: string, cutMs: number): Promise<boolean>;
}

/** What a sweep needs. */
export interface Sweep {
  readonly place: SweptPlace;
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
  const { place, clock, ageMs } = sweep;
  const unused = await place.olderThan(clock.now() - ageMs);
  if (unused.size === 0) return [];
  // References are read after the names: a blob that is stored again meanwhile has a new modification time.
  const oldestWorkMs = await takeUsed(sweep, unused, signal);
  const cutMs = Math.min(clock.now() - ageMs, oldestWorkMs - CLOCK_MS_MAX);
  const removed: string[] = [];
  for (const name of unused) {
    signal.throwIfAborted();
    if (await place.remove(name, cutMs)) removed.push(name);
  }
  return removed;
}

/** The blob folder as a place that is swept, with the files that a killed process left. */
export function folderPlace({ folder, owners }: Pick<BlobFolder, "folder" | "owners">): SweptPlace {
  return {
    olderThan: (cutMs) => olderThan(folder, cutMs),
    remove: async (name, cutMs) => {
      const path = join(folder, name);
      const found = await orElse(stat(path), undefined, GONE);
      if (!found || found.mtimeMs > cutMs || owners.isOwned(name, "stored")) return false;
      await rm(path, { force: true });
      owners.forget(name);
      return true;
    },
  };
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
async function takeUsed({ client }: Pick<Sweep, "client">, names: Set<string>, signal: AbortSignal): Promise<number> {
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

export interface Sweeping extends Omit<Sweep, "place"> {
  readonly blobs: Pick<BlobFolder, "folder" | "owners">;
  /** Storage that is swept, too. */
  readonly shared?: SweptPlace | undefined;
  readonly everyMs: number;
  readonly logger: Logger;
}

/** Sweeps at an interval until it is stopped. */
export function startSweeping(sweeping: Sweeping): { stop(): Promise<void> } {
  const { blobs, shared, clock, logger, everyMs } = sweeping;
  const stopping = new AbortController();
  const places = [folderPlace(blobs), ...(shared ? [shared] : [])];
  const loop = (async () => {
    for (;;) {
      await pause(clock, everyMs, stopping.signal);
      if (stopping.signal.aborted) return;
      try {
        await dropOldPlans(blobs, clock.now());
        for (const place of places) {
          const removed = await sweepBlobs({ ...sweeping, place }, stopping.signal);
          if (removed.length > 0) logger.info({ blobs: removed.length }, "unreferenced blobs were removed");
        }
      } catch (thrown) {
        logger.warn({ error: String(thrown) }, "sweeping blobs failed; the next sweep tries again");
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
