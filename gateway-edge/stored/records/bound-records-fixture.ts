import type { RecordStore } from "./records.ts";

/** A store as an edge has it; `change` puts something in place of parts of it. */
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
