import type { Rollup, UsageRow } from "../domain/records.ts";
import { addCall, bucketOf, ROLLUP_MS, rollupKey, rollupOf } from "../domain/settlement.ts";
import { readAhead } from "../stores/read-ahead.ts";
import type { Reader } from "../stores/store.ts";
import { inPages } from "./pages.ts";

/** All roll-ups of one organization and one quarter of an hour, by id. */
export interface BucketSums {
  readonly organizationId: string;
  readonly bucketAt: number;
  readonly sums: ReadonlyMap<string, Rollup>;
}

/** A quarter of an hour of one organization. */
export type Bucket = Pick<BucketSums, "organizationId" | "bucketAt">;

interface ScanOptions {
  /** Absent: all organizations. */
  readonly organizationId?: string | undefined;
  /** With an organization: the first bucket. */
  readonly from?: number | undefined;
  readonly signal: AbortSignal;
}

type RowsOptions = ScanOptions & { readonly onPage?: (rows: readonly UsageRow[]) => Promise<void> };

/** Rebuilds roll-ups from the usage rows, bucket by bucket in index order. `onPage` receives every row. */
export async function* rebuiltSums(reader: Reader, options: RowsOptions): AsyncGenerator<BucketSums> {
  let open: { bucket: Bucket; rows: RowSums } | undefined;
  for await (const page of readAhead(checkedPages(reader, options))) {
    for (const row of page) {
      const bucket = { organizationId: row.organizationId, bucketAt: bucketOf(row) };
      if (open && !isSame(open.bucket, bucket)) {
        yield { ...open.bucket, sums: open.rows.end() };
        open = undefined;
      }
      open ??= { bucket, rows: new RowSums() };
      open.rows.add(row);
    }
  }
  if (open) yield { ...open.bucket, sums: open.rows.end() };
}

async function* checkedPages(reader: Reader, { onPage, ...options }: RowsOptions): AsyncGenerator<UsageRow[]> {
  for await (const page of readAhead(inPages(reader, "usage", { range: scope(options), signal: options.signal }))) {
    await onPage?.(page);
    yield page;
  }
}

export async function* storedSums(reader: Reader, options: ScanOptions): AsyncGenerator<BucketSums> {
  let open: { bucket: Bucket; sums: Map<string, Rollup> } | undefined;
  for await (const page of inPages(reader, "rollups", { range: scope(options), signal: options.signal })) {
    for (const rollup of page) {
      if (open && !isSame(open.bucket, rollup)) {
        yield { ...open.bucket, sums: open.sums };
        open = undefined;
      }
      open ??= { bucket: { organizationId: rollup.organizationId, bucketAt: rollup.bucketAt }, sums: new Map() };
      open.sums.set(rollup.id, rollup);
    }
  }
  if (open) yield { ...open.bucket, sums: open.sums };
}

/** Rebuilds one bucket from its rows. */
export async function rebuiltBucket(
  reader: Reader,
  { organizationId, bucketAt }: Bucket,
  signal: AbortSignal,
): Promise<Map<string, Rollup>> {
  const rows = new RowSums();
  const range = { index: "byOrganization", equals: [organizationId], from: bucketAt, before: bucketAt + ROLLUP_MS } as const;
  for await (const page of inPages(reader, "usage", { range, signal })) for (const row of page) rows.add(row);
  return rows.end();
}

export async function storedBucket(
  reader: Reader,
  { organizationId, bucketAt }: Bucket,
  signal: AbortSignal,
): Promise<Map<string, Rollup>> {
  const sums = new Map<string, Rollup>();
  const range = { index: "byOrganization", equals: [organizationId], from: bucketAt, before: bucketAt + 1 } as const;
  for await (const page of inPages(reader, "rollups", { range, signal })) for (const rollup of page) sums.set(rollup.id, rollup);
  return sums;
}

export function isSame(left: Bucket, right: Bucket): boolean {
  return left.organizationId === right.organizationId && left.bucketAt === right.bucketAt;
}

function scope({ organizationId, from }: ScanOptions): { index: "byOrganization"; equals?: readonly string[]; from?: number } {
  if (organizationId === undefined) return { index: "byOrganization" };
  return { index: "byOrganization", equals: [organizationId], ...(from === undefined ? {} : { from }) };
}

/** Sums rows exactly as a settlement does. The hash that is a roll-up's id is computed once per roll-up, not per row. */
class RowSums {
  readonly #byKey = new Map<string, Rollup>();

  add(row: UsageRow): void {
    const key = rollupKey(row);
    const sum = this.#byKey.get(key);
    if (sum) addCall(sum, row);
    else this.#byKey.set(key, rollupOf(row));
  }

  end(): Map<string, Rollup> {
    return new Map([...this.#byKey.values()].map((sum) => [sum.id, sum]));
  }
}
