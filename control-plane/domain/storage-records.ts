/** Content of a record, stored in a blob of the same name. */
export interface RecordContent {
  /** `team/record`. */
  id: string;
  /** While it is uploaded, the bytes that are reserved for it. */
  bytes: number;
  /** Since when no record owns it; it is removed after a while. */
  unownedAt?: number;
}

/** Bytes that an organization has stored: the sums of its contents and of its counted records. */
export interface StorageUse {
  /** The organization. */
  id: string;
  fileBytes: number;
  recordBytes?: number;
}
