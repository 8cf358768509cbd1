import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { type Settlement, SettleRequest } from "../../../proto/gen/tributary/access/v1/access.ts";
import { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { RowWriter } from "./row-writer.ts";

/** A settlement with its row as the journal wrote it: a row never changes after its call has ended, and is encoded once. */
export interface EncodedSettlement extends Settlement {
  readonly organizationId?: string | undefined;
  readonly row?: Buffer | undefined;
}

const rowWriter = new RowWriter();

/** The protobuf encoding of a row. */
export function encodeRow(log: UsageLog): Buffer {
  try {
    UsageLog.encode(log, rowWriter.asWriter);
    return rowWriter.take();
  } catch (error) {
    // What was written of this row must not begin the next one.
    rowWriter.reset();
    throw error;
  }
}

const [SETTLEMENTS_TAG, LOG_TAG, LEASE_GENERATION_TAG] = [10, 10, 16];

/** As the generated encoder, with rows that are encoded already. */
export function encodeSettleRequest({ settlements, ...rest }: SettleRequest): Buffer {
  const writer = new BinaryWriter();
  for (const settlement of settlements as readonly EncodedSettlement[]) {
    const { leaseGeneration } = settlement;
    const row = settlement.row ?? (settlement.log && encodeRow(settlement.log));
    writer.uint32(SETTLEMENTS_TAG).fork();
    if (row) writer.uint32(LOG_TAG).bytes(row);
    if (leaseGeneration !== 0n) writer.uint32(LEASE_GENERATION_TAG).int64(leaseGeneration);
    writer.join();
  }
  return Buffer.from(SettleRequest.encode({ settlements: [], ...rest }, writer).finish());
}
