import type { Transaction } from "../store.ts";

/** One forward migration. Each has its own file, is never changed after a release, and never runs backward. */
export interface Migration {
  /** The schema version after it. */
  version: number;
  name: string;
  up(tx: Transaction): Promise<void>;
}
