import type { Transaction } from "../store.ts";

/** One forward migration. Each has its own file, is never changed after a release, and never runs backward. */
export interface Migration {
  /** The schema version after it. */
  version: number;
  /**
   * The oldest schema version whose releases can run on the store after it. A step that only adds names the version before it, so that control
   * planes of two releases can run at once and the newer one can be taken back; a step that removes what that release needs names its own.
   */
  readableBy: number;
  /** The same of a store of several processes, if the step changes only how a store of one process keeps its records. */
  readableByShared?: number;
  name: string;
  up(tx: Transaction): Promise<void>;
}
