import { z } from "zod";
import { ConfigError } from "../../common/config.ts";
import type { Store, Transaction } from "../stores/store.ts";
import { ToolProblem } from "../tools/tool.ts";

/** Id of the setting of a database that is not completely copied. */
export const POSITION = "promotion";

/**
 * How far a promotion is. Each round brings the database from the copy of the round before to the next copy of the folder, or in the last round to
 * the folder itself: removals, records and blobs, each up to an id. Written in the transactions that copy, so that it is never ahead of them or behind.
 */
const positionSchema = z.object({
  /** Of this promotion, also in the mark of the folder. */
  id: z.string(),
  /** Fingerprint of the root secret of the source. */
  source: z.string(),
  /** -1: nothing is copied yet. */
  round: z.int(),
  /** Only in the last round: the last transaction of the folder, which must stay the same from here on. */
  transaction: z.int().optional(),
  phase: z.enum(["removals", "records", "blobs", "copied"]),
  /** Records that this round removed or inserted. */
  changed: z.int(),
  /** The collection that is being copied; absent at the beginning of a phase. */
  collection: z.string().optional(),
  /** The last id that was copied in it. */
  after: z.union([z.string(), z.number()]).optional(),
});

export type Position = z.infer<typeof positionSchema>;

export async function readPosition(reader: Pick<Store, "get">): Promise<Position | undefined> {
  const setting = await reader.get("settings", POSITION);
  if (!setting) return undefined;
  const { success, data } = positionSchema.safeParse(JSON.parse(setting.value));
  if (!success) throw new ToolProblem("The database has an unfinished copy of another release. Drop it and begin again.");
  return data;
}

/** Writes the next position, if no other process has moved on from the last one. */
export async function advance(tx: Transaction, last: Position | undefined, next: Position): Promise<void> {
  const stored = (await tx.get("settings", POSITION))?.value;
  if (stored !== (last && serialized(last)))
    throw new ToolProblem("Another `gw admin promote` writes to this database. Wait until it has ended.");
  await tx.put("settings", { id: POSITION, value: serialized(next) });
}

/** Fields in the order of the schema. */
const serialized = (position: Position): string => JSON.stringify(positionSchema.parse(position));

/** The position at the beginning of the next phase. */
export function inPhase(position: Position, phase: Position["phase"]): Position {
  const { collection: _collection, after: _after, ...rest } = position;
  return { ...rest, phase };
}

/** The copy is complete, and control planes may use the store. */
export function endPosition(tx: Transaction): Promise<void> {
  return tx.remove("settings", POSITION);
}

/** A control plane must not use records that are not all there. */
export async function refuseUnfinishedCopy(store: Pick<Store, "get">): Promise<void> {
  if (!(await store.get("settings", POSITION))) return;
  throw new ConfigError([
    "MONGODB_URI: the database has an unfinished copy of an embedded store. Run `gw admin promote` again until it is complete, or drop the database.",
  ]);
}
