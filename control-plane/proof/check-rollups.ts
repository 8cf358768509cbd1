import type { Rollup, UsageRow } from "../domain/records.ts";
import type { Store } from "../stores/store.ts";
import { isArchived } from "./archived-calls.ts";
import { type Bucket, type BucketSums, isSame, rebuiltBucket, rebuiltSums, storedBucket, storedSums } from "./bucket-sums.ts";
import { type Peekable, peekable } from "./peekable.ts";

const QUIET_ATTEMPTS = 5;
const LATENCY_FIELDS: ReadonlySet<keyof Rollup> = new Set(["latencyMsSum", "latencyCounts"]);

/** A stored roll-up that differs from its rows. */
export interface RollupDifference extends Bucket {
  readonly rollupId: string;
  readonly reason: string;
}

/** Outcome of the check of roll-ups. */
export interface RollupsCheck {
  /** Number of stored roll-ups that were read. */
  readonly rollups: number;
  readonly difference: RollupDifference | undefined;
}

/**
 * Rebuilds all roll-ups, or those of one organization, or its newest ones, from the rows and compares them with the stored ones, field by field. Both are
 * read once, in parallel, one bucket at a time.
 */
export async function checkRollups(
  store: Store,
  options: { organizationId?: string; from?: number; signal: AbortSignal; onPage?: (rows: readonly UsageRow[]) => Promise<void> },
): Promise<RollupsCheck> {
  const [rebuilt, stored] = [peekable(rebuiltSums(store, options)), peekable(storedSums(store, options))];
  let rollups = 0;
  try {
    for (;;) {
      const bucket = earlier(await rebuilt.peek(), await stored.peek());
      if (!bucket) return { rollups, difference: undefined };
      const fromRows = await takeIf(rebuilt, bucket);
      const asStored = await takeIf(stored, bucket);
      rollups += asStored.size;
      // Calls are settled during the read, so a difference counts only if it remains while the bucket does not change.
      const differs = differenceOf(asStored, fromRows) !== undefined && !(await isArchived(store, bucket));
      const difference = differs ? await quietDifference(store, bucket, options.signal) : undefined;
      if (difference) return { rollups, difference: { ...bucket, ...difference } };
    }
  } finally {
    await Promise.all([rebuilt.close(), stored.close()]);
  }
}

function earlier(left: BucketSums | undefined, right: BucketSums | undefined): Bucket | undefined {
  const first = left && right ? (isBefore(right, left) ? right : left) : (left ?? right);
  return first && { organizationId: first.organizationId, bucketAt: first.bucketAt };
}

function isBefore(left: Bucket, right: Bucket): boolean {
  return left.organizationId === right.organizationId ? left.bucketAt < right.bucketAt : left.organizationId < right.organizationId;
}

async function takeIf(sums: Peekable<BucketSums>, bucket: Bucket): Promise<ReadonlyMap<string, Rollup>> {
  const next = await sums.peek();
  if (!next || !isSame(next, bucket)) return new Map();
  await sums.take();
  return next.sums;
}

/**
 * The difference of a bucket that did not change while its rows were read. Sums only grow, in the transaction that writes their rows; if
 * they are equal before and after, the rows read in between belong to them.
 */
async function quietDifference(store: Store, bucket: Bucket, signal: AbortSignal): Promise<Difference | undefined> {
  for (let attempt = 0; attempt < QUIET_ATTEMPTS; attempt++) {
    const before = await storedBucket(store, bucket, signal);
    const rebuilt = await rebuiltBucket(store, bucket, signal);
    if (!differenceOf(before, await storedBucket(store, bucket, signal))) return differenceOf(before, rebuilt);
  }
  return store.transaction([], async (tx) => differenceOf(await storedBucket(tx, bucket, signal), await rebuiltBucket(tx, bucket, signal)));
}

interface Difference {
  readonly rollupId: string;
  readonly reason: string;
}

function differenceOf(stored: ReadonlyMap<string, Rollup>, rebuilt: ReadonlyMap<string, Rollup>): Difference | undefined {
  for (const id of new Set([...stored.keys(), ...rebuilt.keys()])) {
    const [had, made] = [stored.get(id), rebuilt.get(id)];
    const named = (what: string): Difference => ({ rollupId: id, reason: `${describe(had ?? made)} ${what}` });
    if (!had) return named(`is missing; its rows say ${made?.requests} requests and a cost of ${made?.cost}`);
    if (!made) return named("has no rows");
    for (const field of new Set([...Object.keys(had), ...Object.keys(made)]) as Set<keyof Rollup>) {
      // A roll-up created before latencies were stored has none, whatever its rows contain.
      if (LATENCY_FIELDS.has(field) && had.latencyMsSum === undefined && had.latencyCounts === undefined) continue;
      if (!isEqual(had[field], made[field])) return named(`says ${field} ${had[field]}, its rows say ${made[field]}`);
    }
  }
  return undefined;
}

function isEqual(left: Rollup[keyof Rollup], right: Rollup[keyof Rollup]): boolean {
  if (!Array.isArray(left) || !Array.isArray(right)) return left === right;
  return left.length === right.length && left.every((value, place) => value === right[place]);
}

function describe(rollup: Rollup | undefined): string {
  if (!rollup) return "the roll-up";
  const { organizationId, bucketAt, model, status } = rollup;
  return `the roll-up of ${organizationId} at ${new Date(bucketAt).toISOString()} for ${model}, ${status},`;
}
