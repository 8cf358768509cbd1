import type { Migration } from "./migration.ts";

/**
 * Allows blocks of rows (embedded/packed-table.ts) in the embedded store. No record changes: rows are read whether they are in a block or not. MongoDB
 * has no blocks, and releases before this step run on it as before.
 */
export const rowBlocks: Migration = { version: 3, readableBy: 3, readableByShared: 2, name: "rows in blocks", up: async () => undefined };
