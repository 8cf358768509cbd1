import type { LedgerEntry } from "../domain/records.ts";
import type { UsageArchive } from "../domain/usage-archive.ts";
import { collect } from "../stores/page.ts";
import type { Reader } from "../stores/store.ts";
import type { Bucket } from "./bucket-sums.ts";
import type { LedgerFault } from "./ledger-fault.ts";

type Tally = Pick<UsageArchive, "charged" | "cost"> & { readonly seq: number };

/**
 * Entries whose calls are no longer in the log. An organization's archive record counts them: as many entries, with the same sum, must be without
 * a row. Rows may be archived during the check, so that the count must be between that of its begin and that of its end. A check of the newest entries
 * only finds a part of them. Entries after the last archived one always have a row.
 */
export class ArchivedCalls {
  readonly #store: Reader;
  readonly #atBegin: ReadonlyMap<string, UsageArchive>;
  readonly #hasAllEntries: boolean;
  readonly #tallies = new Map<string, Tally>();

  private constructor(store: Reader, atBegin: ReadonlyMap<string, UsageArchive>, hasAllEntries: boolean) {
    this.#store = store;
    this.#atBegin = atBegin;
    this.#hasAllEntries = hasAllEntries;
  }

  /** `hasAllEntries`: the check reads every entry, not the newest only. */
  static async begin(store: Reader, { hasAllEntries }: { hasAllEntries: boolean }): Promise<ArchivedCalls> {
    const archives = await collect(store.scan("usageArchives"));
    return new ArchivedCalls(store, new Map(archives.map((archive) => [archive.id, archive])), hasAllEntries);
  }

  /** Counts an entry without a row; false if its row cannot be archived, because no row of an entry so new is. */
  async admits({ id, organizationId, amount }: LedgerEntry): Promise<boolean> {
    const isCovered = reaches(this.#atBegin.get(organizationId), id) || reaches(await this.#store.get("usageArchives", organizationId), id);
    if (!isCovered) return false;
    const { charged, cost, seq } = this.#tallies.get(organizationId) ?? { charged: 0, cost: 0n, seq: id };
    this.#tallies.set(organizationId, { charged: charged + 1, cost: cost + amount, seq });
    return true;
  }

  /** The fault of an organization whose entries without a row are not those that were archived. */
  async end(): Promise<LedgerFault | undefined> {
    for (const organizationId of new Set([...this.#atBegin.keys(), ...this.#tallies.keys()])) {
      const from = (this.#hasAllEntries && this.#atBegin.get(organizationId)) || NOTHING;
      const to = (await this.#store.get("usageArchives", organizationId)) ?? NOTHING;
      const found = this.#tallies.get(organizationId) ?? { ...NOTHING, seq: 0 };
      if (isBetween(found, from, to)) continue;
      const reason = `${found.charged} of its charged calls, of ${found.cost} together, are not in the log; archived were ${to.charged}, of ${to.cost}`;
      return { kind: "usage", seq: found.seq, record: `archive of ${organizationId}`, reason };
    }
    return undefined;
  }
}

function reaches(archive: UsageArchive | undefined, seq: number): boolean {
  return archive !== undefined && seq <= (archive.lastSeq ?? Number.POSITIVE_INFINITY);
}

const NOTHING = { charged: 0, cost: 0n };

function isBetween(found: Tally, from: typeof NOTHING, to: typeof NOTHING): boolean {
  return found.charged >= from.charged && found.charged <= to.charged && found.cost >= from.cost && found.cost <= to.cost;
}

/** Whether rows of a bucket may be archived: then its roll-ups cannot be made again. */
export async function isArchived(store: Reader, { organizationId, bucketAt }: Bucket): Promise<boolean> {
  const archive = await store.get("usageArchives", organizationId);
  return archive !== undefined && bucketAt < archive.before;
}
