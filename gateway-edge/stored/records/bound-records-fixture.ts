import type { RecordStore } from "./records.ts";

/** A record store with some methods replaced by `change`. */
export function boundRecords(records: RecordStore, change: Partial<RecordStore> = {}): RecordStore {
  return {
    get: records.get.bind(records),
    list: records.list.bind(records),
    commit: records.commit.bind(records),
    claim: records.claim.bind(records),
    renew: records.renew.bind(records),
    putContent: records.putContent.bind(records),
    getContent: records.getContent.bind(records),
    ...change,
  };
}
