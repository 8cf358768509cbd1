import { z } from "zod";
import { ConfigError } from "../../common/config.ts";
import type { Store, Transaction } from "../stores/store.ts";

const SETTING = "promotion";

/**
 * How far a copy is: records, then blobs, both up to an id; then everything is copied and counted. Written in the transactions that copy, so that
 * it is never ahead of them or behind.
 */
const positionSchema = z.object({
  /** Fingerprint of the root secret of the source. */
  source: z.string(),
  /** The source's last transaction: the copy goes on only if the source did not change. */
  transaction: z.int(),
  phase: z.enum(["records", "blobs", "copied"]),
  /** The collection that is being copied; absent at the beginning. */
  collection: z.string().optional(),
  /** The last id that was copied in it. */
  after: z.union([z.string(), z.number()]).optional(),
});

export type Position = z.infer<typeof positionSchema>;

export async function readPosition(reader: Pick<Store, "get">): Promise<Position | undefined> {
  const setting = await reader.get("settings", SETTING);
  return setting && positionSchema.parse(JSON.parse(setting.value));
}

export function writePosition(tx: Transaction, position: Position): Promise<void> {
  return tx.put("settings", { id: SETTING, value: JSON.stringify(position) });
}

/** The copy is complete, and control planes may use the store. */
export function endPosition(tx: Transaction): Promise<void> {
  return tx.remove("settings", SETTING);
}

/** A control plane must not use records that are not all there. */
export async function refuseUnfinishedCopy(store: Pick<Store, "get">): Promise<void> {
  if (!(await readPosition(store))) return;
  throw new ConfigError([
    "MONGODB_URI: the database has an unfinished copy of an embedded store. Run `gw admin promote` again until it is complete, or drop the database.",
  ]);
}
