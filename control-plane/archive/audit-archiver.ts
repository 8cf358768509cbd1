import { pause } from "../../common/clock.ts";
import { ANCHOR_SLOT } from "../domain/anchors.ts";
import { auditHash, CHAIN_START } from "../domain/audit.ts";
import { ARCHIVE_ACTION, AUDIT_ARCHIVE, type AuditArchive, NOTHING_ARCHIVED } from "../domain/audit-archive.ts";
import type { AuditEntry } from "../domain/records.ts";
import { monthName, monthStart } from "../domain/usage-archive.ts";
import { followAudit, walkAfter } from "../proof/check-audit.ts";
import { inPages } from "../proof/pages.ts";
import { collect } from "../stores/page.ts";
import type { Reader, Transaction } from "../stores/store.ts";
import { writeAudit } from "../writes/audit.ts";
import { type ArchiverDeps, PAUSE_MS } from "./archiver-deps.ts";

const DAY_MS = 24 * 3_600_000;
const SIZES = { partEntries: 100_000, entriesATransaction: 100 };

interface Deps extends ArchiverDeps {
  readonly config: { readonly auditKeptDays?: number | undefined };
}

/**
 * Moves the oldest entries of the audit log, of whole months that are older than AUDIT_KEPT_DAYS, to files. The log stays one chain: the store has the hash
 * at which it begins, and an entry of the log says how far it was archived. A run may end anywhere; the next one first removes what the files contain.
 */
export class AuditArchiver {
  readonly #deps: Deps;
  readonly #sizes: typeof SIZES;

  constructor(deps: Deps, sizes = SIZES) {
    this.#deps = deps;
    this.#sizes = sizes;
  }

  /** Archives what is due, at the owner of the anchors' slot, so that one control plane does it. */
  async run(now: number, signal: AbortSignal): Promise<void> {
    const { store, config } = this.#deps;
    if (config.auditKeptDays === undefined || !store.owns(ANCHOR_SLOT)) return;
    const due = monthStart(now - config.auditKeptDays * DAY_MS);
    try {
      for (let oldest = await firstEntry(store); oldest && oldest.at < due; oldest = await firstEntry(store)) {
        signal.throwIfAborted();
        await this.#archiveMonth(monthName(oldest.at), { now, due, signal });
      }
    } catch (thrown) {
      // The process stops; the next one goes on.
      if (!signal.aborted) throw thrown;
    }
  }

  async #archiveMonth(month: string, { now, due, signal }: { now: number; due: number; signal: AbortSignal }): Promise<void> {
    const { store, parts, logger } = this.#deps;
    const series = `audit/${month}/audit`;
    const written = await parts.list(series);
    for (const part of written) await this.#removeEntries(part, { now, signal });
    for (let oldest = await firstEntry(store); oldest && isOf(oldest, { month, due }); oldest = await firstEntry(store)) {
      const pages = this.#firstEntries({ month, due, signal });
      const part = await parts.write(series, { after: written, pages });
      written.push(part);
      const removed = await this.#removeEntries(part, { now, signal });
      if (removed === 0) throw new Error(`${part} differs from the audit log, which changed while it was written`);
      logger.info({ file: part, entries: removed }, "archived entries of the audit log");
    }
  }

  /** The entries of the next part. An entry that does not follow from the one before ends the archive, so that a changed log keeps its evidence. */
  async *#firstEntries({ signal, ...of }: { month: string; due: number; signal: AbortSignal }): AsyncGenerator<AuditEntry[]> {
    const { store } = this.#deps;
    const walk = walkAfter((await store.get("auditArchives", AUDIT_ARCHIVE)) ?? NOTHING_ARCHIVED);
    let left = this.#sizes.partEntries;
    for await (const page of inPages(store, "audit", { range: { from: walk.seq + 1 }, signal })) {
      const end = page.findIndex((entry) => left-- === 0 || !isOf(entry, of));
      const entries = end === -1 ? page : page.slice(0, end);
      for (const entry of entries) {
        const fault = followAudit(walk, entry);
        if (fault) throw new Error(`entry ${fault.seq} of the audit log is wrong, and is not archived: ${fault.reason}`);
      }
      yield entries;
      if (entries.length < page.length) return;
    }
  }

  /** Removes the entries that a part contains and the log still has, in small transactions. Returns how many. */
  async #removeEntries(part: string, { now, signal }: { now: number; signal: AbortSignal }): Promise<number> {
    const { store, clock, parts } = this.#deps;
    await parts.check(part);
    const to = await this.#lastSame(part, signal);
    let removed = 0;
    for await (const batch of parts.read<AuditEntry>(part, this.#sizes.entriesATransaction)) {
      signal.throwIfAborted();
      if ((batch.at(-1)?.id ?? 0) > to) break;
      const note = removed === 0 ? { part, to, at: now } : undefined;
      const count = await store.transaction("audit", (tx) => removeArchived(tx, batch, note));
      if (count === "different") break;
      removed += count;
      if (count > 0) await pause(clock, PAUSE_MS, signal);
    }
    return removed;
  }

  /** The last entry that can be removed by a part: up to it, the log has the part's entries as they were archived. */
  async #lastSame(part: string, signal: AbortSignal): Promise<number> {
    const { store, parts } = this.#deps;
    let { seq } = (await store.get("auditArchives", AUDIT_ARCHIVE)) ?? NOTHING_ARCHIVED;
    for await (const batch of parts.read<AuditEntry>(part, this.#sizes.entriesATransaction)) {
      signal.throwIfAborted();
      const same = await sameAfter(store, seq, batch);
      if (same === "different") break;
      seq = same.at(-1)?.id ?? seq;
    }
    return seq;
  }
}

async function firstEntry(reader: Reader): Promise<AuditEntry | undefined> {
  return (await collect(reader.scan("audit", { limit: 1 })))[0];
}

const isOf = ({ at }: AuditEntry, { month, due }: { month: string; due: number }): boolean => at < due && monthName(at) === month;

/** The entries of a batch after a number, if the log has them as they were archived, and goes on with them there. */
async function sameAfter(reader: Reader, seq: number, batch: readonly AuditEntry[]): Promise<readonly AuditEntry[] | "different"> {
  const rest = batch.filter(({ id }) => id > seq);
  if (rest.length === 0) return rest;
  const found = await reader.getMany(
    "audit",
    rest.map(({ id }) => id),
  );
  return rest[0]?.id === seq + 1 && rest.every((entry, place) => isSame(entry, found[place])) ? rest : "different";
}

/**
 * Removes the entries of a batch from the beginning of the log, if the log has them as they were archived, and moves its beginning. A restored log that
 * went another way than the archived one has others under the same numbers.
 */
async function removeArchived(
  tx: Transaction,
  batch: readonly AuditEntry[],
  note: { part: string; to: number; at: number } | undefined,
): Promise<number | "different"> {
  const begin: AuditArchive = (await tx.get("auditArchives", AUDIT_ARCHIVE)) ?? NOTHING_ARCHIVED;
  const rest = await sameAfter(tx, begin.seq, batch);
  if (rest === "different") return rest;
  const last = rest.at(-1);
  if (!last) return 0;
  for (const { id } of rest) await tx.remove("audit", id);
  const chained = begin.chained + rest.filter(({ hash }) => hash !== undefined).length;
  const hash = last.hash === undefined ? {} : { hash: last.hash };
  await tx.put("auditArchives", { id: AUDIT_ARCHIVE, seq: last.id, chained, ...hash });
  if (note) {
    const entry = { actorKind: "system", action: ARCHIVE_ACTION, target: note.part, requestId: "", details: { to: note.to } } as const;
    await writeAudit(tx, entry, note.at);
  }
  return rest.length;
}

function isSame({ hash, ...left }: AuditEntry, right: AuditEntry | undefined): boolean {
  if (!right || hash !== right.hash) return false;
  return auditHash(CHAIN_START, left) === auditHash(CHAIN_START, right);
}
