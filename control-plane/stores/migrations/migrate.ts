import { ConfigError } from "../../../common/config.ts";
import type { Store, Transaction } from "../store.ts";
import { ledgerSlots } from "./0002-ledger-slots.ts";
import { rowBlocks } from "./0003-row-blocks.ts";
import type { Migration } from "./migration.ts";

const STAMP = "schema";
const READABLE_BY = "schema-readable-by";
const FIRST_VERSION = 1;

/** Every migration since the first version, in order. */
const MIGRATIONS: readonly Migration[] = [ledgerSlots, rowBlocks];

/**
 * Migrates the store to the newest version and stores that version; a new store only gets the version. A store of a newer release is
 * refused, unless its steps say that this release can run on it: writing to an unknown format could lose money.
 */
export async function migrate(store: Store, migrations: readonly Migration[] = MIGRATIONS): Promise<{ from: number; to: number }> {
  const last = migrations.at(-1);
  const newest = last?.version ?? FIRST_VERSION;
  const stamp = await store.get("settings", STAMP);
  const isNew = !stamp && (await store.count("settings")) === 0;
  const from = stamp ? Number(stamp.value) : isNew ? newest : FIRST_VERSION;
  const readableBy = Number((await store.get("settings", READABLE_BY))?.value ?? from);
  if (Math.min(from, readableBy) > newest) {
    throw new ConfigError([
      `the store has schema version ${from}; this release knows ${newest}. Start a release that is at least as new as the one that wrote it.`,
    ]);
  }
  if (!stamp) await stampVersion(store, { version: from, readableBy: isNew && last ? readableByOf(last, store) : from });
  for (const migration of migrations) {
    if (migration.version <= from) continue;
    await store.transaction("every", async (tx) => {
      // Another control plane may have run this migration in between.
      if (Number((await tx.get("settings", STAMP))?.value) >= migration.version) return;
      await migration.up(tx);
      await putVersion(tx, { version: migration.version, readableBy: readableByOf(migration, store) });
    });
  }
  return { from, to: Math.max(from, newest) };
}

function readableByOf({ readableBy, readableByShared }: Migration, { ownership }: Store): number {
  return ownership ? (readableByShared ?? readableBy) : readableBy;
}

async function stampVersion(store: Store, stamp: Pick<Migration, "version" | "readableBy">): Promise<void> {
  await store.transaction("settings", async (tx) => {
    if (!(await tx.get("settings", STAMP))) await putVersion(tx, stamp);
  });
}

async function putVersion(tx: Transaction, { version, readableBy }: Pick<Migration, "version" | "readableBy">): Promise<void> {
  await tx.put("settings", { id: STAMP, value: String(version) });
  await tx.put("settings", { id: READABLE_BY, value: String(readableBy) });
}
