import { FeedPlace, revisionOf } from "../../common/feed-place.ts";
import type { ChangeKind, Counter } from "../domain/records.ts";
import { collect } from "./page.ts";
import { organizationScope, type Scope, slotOfScope, slotScope } from "./scopes.ts";
import type { Reader, Transaction } from "./store.ts";

/** The lanes of shared scopes, from lane 1. Their order is part of stored ids: new ones go to the end. */
const SHARED: readonly Scope[] = ["identity", "catalog", "settings", "payments", "audit", "every"];
const FIRST_SLOT_LANE = 16;

const SERIES = "feed";
/** The range of the counters of all lanes: `feed/<scope>`, and `feed`, which numbered all rows before there were lanes. */
export const FEED_COUNTERS = { from: SERIES, before: `${SERIES}0` } as const;

/** The counter of a scope's rows. */
export const feedCounter = (scope: Scope): string => `${SERIES}/${scope}`;

/** The lane of a scope; undefined for scopes whose transactions change nothing that edges know. */
export function laneOfScope(scope: Scope): number | undefined {
  const slot = slotOfScope(scope);
  if (slot !== undefined) return FIRST_SLOT_LANE + slot;
  const index = SHARED.indexOf(scope);
  return index < 0 ? undefined : index + 1;
}

/** The slot whose changes are in a lane; undefined for the lanes of shared scopes. */
export function slotOfLane(lane: number): number | undefined {
  return lane < FIRST_SLOT_LANE ? undefined : lane - FIRST_SLOT_LANE;
}

/** The newest revision of the lane of a counter. */
export function newestOf({ id, value }: Counter): number {
  const lane = id === SERIES ? 0 : laneOfScope(id.slice(SERIES.length + 1) as Scope);
  if (lane === undefined) throw new Error(`the counter ${id} has no lane`);
  return revisionOf(lane, value);
}

/** The end of every lane, in one read. */
export async function endOfFeed(reader: Reader): Promise<FeedPlace> {
  const counters = await collect(reader.scan("counters", FEED_COUNTERS));
  return new FeedPlace(counters.map(newestOf));
}

/** The part of a place that changes of an organization, its teams, keys and users can be in. */
export function placeOfOrganization(place: FeedPlace, organizationId: string | undefined, slots: number): number[] {
  const slot = organizationId === undefined ? undefined : laneOfScope(organizationScope({ slots }, organizationId));
  const lanes = [0, ...SHARED.keys().map((index) => index + 1), ...(slot === undefined ? [] : [slot])];
  return lanes.map((lane) => place.at(lane));
}

/**
 * The scope among those of the transaction that numbers a change: the slot of a changed organization, otherwise the first shared one,
 * otherwise the lowest slot.
 */
export function scopeOfChange(tx: Transaction, { kind, subject }: { kind: ChangeKind; subject: string }): Scope {
  const own = kind === "organization" ? organizationScope(tx, subject) : undefined;
  const slots = tx.scopes.map(slotOfScope).filter((slot) => slot !== undefined);
  const candidates = [own, ...SHARED, ...(slots.length > 0 ? [slotScope(Math.min(...slots))] : [])];
  const found = candidates.find((scope) => scope !== undefined && tx.scopes.includes(scope));
  if (found === undefined) throw new Error(`a transaction of ${tx.scopes.join(", ") || "no scope"} cannot append to the feed`);
  return found;
}
