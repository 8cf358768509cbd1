import { ANCHORS, anchorHash } from "../domain/anchors.ts";
import { NO_HASH } from "../domain/ledger.ts";
import type { Anchor } from "../domain/ledger-records.ts";
import type { LedgerEntry } from "../domain/records.ts";
import type { Reader, Store } from "../stores/store.ts";
import type { LedgerFault } from "./ledger-fault.ts";
import type { LedgerSnapshot } from "./ledger-snapshot.ts";
import { inPages } from "./pages.ts";

const ENTRIES_AT_ONCE = 500;

/** Number and hash of the newest anchor. */
export interface NewestAnchor {
  readonly number: number;
  readonly hash: string;
}

const NO_ANCHOR: NewestAnchor = { number: 0, hash: NO_HASH };

/** Must be read before the heads that anchors are compared with, which only move on. */
export async function newestAnchor(reader: Reader): Promise<NewestAnchor> {
  const counter = await reader.get("counters", ANCHORS);
  return { number: counter?.value ?? 0, hash: counter?.hash ?? NO_HASH };
}

/** Checks the anchors after one, or all, up to the newest: none is missing, each follows from the one before, and every head it names is in its slot's chain. */
export async function checkAnchors(
  store: Store,
  {
    newest,
    after = NO_ANCHOR,
    snapshot,
    signal,
  }: { newest: NewestAnchor; after?: NewestAnchor; snapshot: LedgerSnapshot; signal: AbortSignal },
): Promise<LedgerFault | undefined> {
  const walk: Walk = { ...after, snapshot, reached: new Map() };
  for await (const page of inPages(store, "anchors", { range: { from: after.number + 1, before: newest.number + 1 }, signal })) {
    const entries = await readEntries(store, page);
    for (const anchor of page) {
      const reason = follow(walk, anchor) ?? wrongHead(walk, { anchor, entries });
      if (reason) return badAnchor(anchor.id, reason);
    }
  }
  if (walk.number !== newest.number) return badAnchor(newest.number, `the anchors end at ${walk.number}, the newest is ${newest.number}`);
  return walk.hash === newest.hash ? undefined : badAnchor(newest.number, "its hash is not the newest anchor's");
}

/** State after the anchors checked so far. */
interface Walk {
  number: number;
  hash: string;
  readonly snapshot: LedgerSnapshot;
  /** The last entry of each slot that an anchor named. */
  readonly reached: Map<number, number>;
}

async function readEntries(store: Store, anchors: readonly Anchor[]): Promise<Map<number, LedgerEntry>> {
  const ids = anchors.flatMap(({ heads }) => heads.map(([, seq]) => seq));
  const entries = new Map<number, LedgerEntry>();
  for (let start = 0; start < ids.length; start += ENTRIES_AT_ONCE) {
    for (const entry of await store.getMany("ledger", ids.slice(start, start + ENTRIES_AT_ONCE))) if (entry) entries.set(entry.id, entry);
  }
  return entries;
}

function follow(walk: Walk, { hash, ...content }: Anchor): string | undefined {
  if (content.id !== walk.number + 1) return `anchor ${walk.number + 1} is missing`;
  if (content.previous !== walk.hash || anchorHash(content) !== hash) return "the hash does not follow from the anchor before";
  walk.number = content.id;
  walk.hash = hash;
  return undefined;
}

function wrongHead(walk: Walk, { anchor, entries }: { anchor: Anchor; entries: ReadonlyMap<number, LedgerEntry> }): string | undefined {
  for (const [slot, seq, hash] of anchor.heads) {
    const problem = headProblem(walk, { slot, seq, hash, entry: entries.get(seq) });
    if (problem) return `slot ${slot} was at entry ${seq}, ${problem}`;
    walk.reached.set(slot, seq);
  }
  return undefined;
}

function headProblem(
  { snapshot: { begins, heads, closed }, reached }: Walk,
  { slot, seq, hash, entry }: { slot: number; seq: number; hash: string; entry: LedgerEntry | undefined },
): string | undefined {
  const [begin, head] = [begins[slot], heads[slot]];
  if (!begin || !head) return "which is not a slot of this store";
  if (seq > head.seq) return `its head is at ${head.seq}`;
  if (seq < (reached.get(slot) ?? 0)) return `after it had been at ${reached.get(slot)}`;
  if (begin.seq === seq && begin.hash === hash) return undefined;
  // Entries of the closed chain were anchored under the only slot that the store had then.
  if (seq > (closed?.seq ?? 0) && (seq - begin.seq) % begins.length !== 0) return "which is not an entry of this slot";
  if (!entry) return "which is missing";
  return entry.hash === hash ? undefined : "which has another hash now";
}

function badAnchor(number: number, reason: string): LedgerFault {
  return { kind: "anchor", seq: 0, record: `anchor ${number}`, reason };
}
