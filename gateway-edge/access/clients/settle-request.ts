import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { SettleRequest } from "../../../proto/gen/tributary/access/v1/access.ts";
import { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";

const encodedRows = new WeakMap<UsageLog, Buffer>();

/**
 * The protobuf encoding of a row, made once: the journal writes these bytes, and the settlement sends the same. A row never changes after
 * its call has ended.
 */
export function encodedRow(log: UsageLog): Buffer {
  const known = encodedRows.get(log);
  if (known) return known;
  const { buffer, byteOffset, byteLength } = UsageLog.encode(log).finish();
  const bytes = Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
  encodedRows.set(log, bytes);
  return bytes;
}

const [SETTLEMENTS_TAG, LOG_TAG, LEASE_GENERATION_TAG] = [10, 10, 16];

/** As the generated encoder, with rows that are encoded already. */
export function encodeSettleRequest({ settlements, ...rest }: SettleRequest): Buffer {
  const writer = new BinaryWriter();
  for (const { log, leaseGeneration } of settlements) {
    writer.uint32(SETTLEMENTS_TAG).fork();
    if (log) writer.uint32(LOG_TAG).bytes(encodedRow(log));
    if (leaseGeneration !== 0n) writer.uint32(LEASE_GENERATION_TAG).int64(leaseGeneration);
    writer.join();
  }
  return Buffer.from(SettleRequest.encode({ settlements: [], ...rest }, writer).finish());
}
