import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { Owner, RecordOf, RecordStore, RecordWrite } from "./records.ts";

/** Of concurrent writers on one record, one succeeds in each attempt. */
const ATTEMPTS = 40;
const BACK_OFF_MS = 5;
const BACK_OFF_MS_MAX = 100;

/**
 * Calls `decide` and commits its writes; repeats both if another writer changed a record meanwhile. `decide` must name the records that it
 * read in its writes, with the revisions that it saw.
 */
export async function writeAgainstChange<Result>(
  deps: { readonly records: RecordStore; readonly clock: Clock },
  owner: Owner,
  decide: () => Promise<{ writes: readonly RecordWrite[]; result: Result }>,
): Promise<{ result: Result; written: RecordOf<unknown>[] }> {
  for (let attempt = 1; ; attempt++) {
    const { writes, result } = await decide();
    try {
      return { result, written: await deps.records.commit(owner, writes) };
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.code !== "RECORD_CHANGED" || attempt === ATTEMPTS) throw thrown;
      await deps.clock.sleep(Math.min(BACK_OFF_MS * attempt, BACK_OFF_MS_MAX));
    }
  }
}
