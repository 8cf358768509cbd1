import { pause } from "../../common/clock.ts";
import type { UsageRow } from "../domain/records.ts";
import { monthEnd, monthName, monthStart, type UsageArchive } from "../domain/usage-archive.ts";
import { inPages } from "../proof/pages.ts";
import { collect } from "../stores/page.ts";
import { isOwn, organizationScope } from "../stores/scopes.ts";
import type { Transaction } from "../stores/store.ts";
import { type ArchiverDeps, PAUSE_MS } from "./archiver-deps.ts";

const DAY_MS = 24 * 3_600_000;
const SIZES = {
  /** Bounds what is written again after a crash, and how many rows take disk twice. */
  partRows: 100_000,
  /** A settlement of the same slot waits for one such transaction at most. */
  rowsATransaction: 400,
};

interface Deps extends ArchiverDeps {
  readonly config: { readonly usageKeptDays?: number | undefined };
}

/** What the removal of an archived row needs of it. */
type ArchivedRow = Pick<UsageRow, "id" | "contentHash">;

/**
 * Moves usage rows of whole months that are older than USAGE_KEPT_DAYS to files. Only rows that a checked file contains are removed, by their ids, so
 * that a run may end anywhere: the next one first removes the rows that the files of the month contain, then archives the others.
 */
export class UsageArchiver {
  readonly #deps: Deps;
  readonly #sizes: typeof SIZES;
  #rows = 0;
  #oldestAt: number | undefined;

  constructor(deps: Deps, sizes = SIZES) {
    this.#deps = deps;
    this.#sizes = sizes;
  }

  /** Rows that this process moved, and when the oldest row of its organizations was created, as of the last run. */
  get figures(): { readonly rows: number; readonly oldestAt: number | undefined } {
    return { rows: this.#rows, oldestAt: this.#oldestAt };
  }

  /** Archives what is due, for the organizations whose slots this control plane owns. */
  async run(now: number, signal: AbortSignal): Promise<void> {
    const { usageKeptDays } = this.#deps.config;
    if (usageKeptDays === undefined) return;
    try {
      await this.#archiveAll({ due: monthStart(now - usageKeptDays * DAY_MS), signal });
    } catch (thrown) {
      // The process stops; the next one goes on.
      if (!signal.aborted) throw thrown;
    }
  }

  async #archiveAll({ due, signal }: { due: number; signal: AbortSignal }): Promise<void> {
    const { store } = this.#deps;
    let oldestAt: number | undefined;
    for await (const page of inPages(store, "organizations", { signal })) {
      for (const { id } of page) {
        const oldest = isOwn(store, organizationScope(store, id)) ? await this.#archiveOrganization(id, { due, signal }) : undefined;
        if (oldest !== undefined) oldestAt = Math.min(oldest, oldestAt ?? oldest);
      }
    }
    this.#oldestAt = oldestAt;
  }

  /** Returns when the oldest row that stays was created. */
  async #archiveOrganization(organizationId: string, { due, signal }: { due: number; signal: AbortSignal }): Promise<number | undefined> {
    for (;;) {
      const oldest = await this.#oldestOf(organizationId);
      if (oldest === undefined || oldest >= due) return oldest;
      signal.throwIfAborted();
      await this.#archiveMonth(organizationId, { month: oldest, signal });
    }
  }

  async #oldestOf(organizationId: string): Promise<number | undefined> {
    const [row] = await collect(this.#deps.store.scan("usage", { index: "byOrganization", equals: [organizationId], limit: 1 }));
    return row?.createdAt;
  }

  async #archiveMonth(organizationId: string, { month, signal }: { month: number; signal: AbortSignal }): Promise<void> {
    const { store, logger, parts } = this.#deps;
    const series = `usage/${monthName(month)}/${organizationId}`;
    const written = await parts.list(series);
    for (const part of written) await this.#removeRows(part, { organizationId, month, signal });
    const range = { index: "byOrganization", equals: [organizationId], from: monthStart(month), before: monthEnd(month) } as const;
    while (((await this.#oldestOf(organizationId)) ?? range.before) < range.before) {
      const pages = firstRows(inPages(store, "usage", { range, signal }), this.#sizes.partRows);
      const part = await parts.write(series, { after: written, pages });
      written.push(part);
      const removed = await this.#removeRows(part, { organizationId, month, signal, isNew: true });
      logger.info({ file: part, rows: removed }, "archived usage rows");
    }
  }

  /** Removes the rows that a part contains and the log still has, in small transactions. The log has all rows of a new part. */
  async #removeRows(part: string, of: { organizationId: string; month: number; signal: AbortSignal; isNew?: boolean }): Promise<number> {
    const { store, clock, parts } = this.#deps;
    await parts.check(part);
    let removed = 0;
    for await (const batch of parts.read<ArchivedRow>(part, this.#sizes.rowsATransaction)) {
      of.signal.throwIfAborted();
      if (!of.isNew && (await store.getMany("usage", idsOf(batch))).every((row) => row === undefined)) continue;
      const rows = await store.transaction(organizationScope(store, of.organizationId), (tx) => removeArchived(tx, batch, of));
      removed += rows;
      this.#rows += rows;
      await pause(clock, PAUSE_MS, of.signal);
    }
    return removed;
  }
}

/** Removes the rows of a batch that the log has as they were archived, and counts them in the organization's record. */
async function removeArchived(
  tx: Transaction,
  batch: readonly ArchivedRow[],
  { organizationId, month }: { organizationId: string; month: number },
): Promise<number> {
  const hashes = new Map(batch.map(({ id, contentHash }) => [id, contentHash]));
  const found = await tx.getMany("usage", idsOf(batch));
  const rows = found.filter((row) => row !== undefined && row.contentHash === hashes.get(row.id)) as UsageRow[];
  if (rows.length === 0) return 0;
  for (const { id } of rows) await tx.remove("usage", id);
  const before = await tx.get("usageArchives", organizationId);
  await tx.put("usageArchives", addRows(before ?? emptyArchive(organizationId), { rows, before: monthEnd(month) }));
  return rows.length;
}

function emptyArchive(organizationId: string): UsageArchive {
  return { id: organizationId, organizationId, before: 0, rows: 0, charged: 0, cost: 0n, lastSeq: 0 };
}

function addRows(archive: UsageArchive, { rows, before }: { rows: readonly UsageRow[]; before: number }): UsageArchive {
  const charged = rows.filter(({ ledgerSeq }) => ledgerSeq !== undefined);
  const { lastSeq } = archive;
  const newest = charged.reduce((last, { ledgerSeq = 0 }) => Math.max(last, ledgerSeq), lastSeq ?? 0);
  return {
    ...archive,
    before: Math.max(archive.before, before),
    rows: archive.rows + rows.length,
    charged: archive.charged + charged.length,
    cost: charged.reduce((sum, { cost }) => sum + cost, archive.cost),
    ...(lastSeq === undefined ? {} : { lastSeq: newest }),
  };
}

const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id);

async function* firstRows(pages: AsyncIterable<UsageRow[]>, limit: number): AsyncIterable<UsageRow[]> {
  let left = limit;
  for await (const page of pages) {
    yield page.slice(0, left);
    left -= page.length;
    if (left <= 0) return;
  }
}
