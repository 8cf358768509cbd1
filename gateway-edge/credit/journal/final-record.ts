import { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { type EncodedSettlement, encodeRow } from "../../access/clients/settle-request.ts";
import type { Frame } from "./frame.ts";
import { unpackPositionalFinal } from "./positional-final.ts";
import { RECORD_TYPE } from "./records.ts";

/** A final as it is stored, and the lease of its call, which only the process that made the call needs. */
interface FinalRow {
  readonly sequence: number;
  readonly row: Buffer;
  readonly leaseGeneration: bigint;
}

/**
 * A final with its sequence in the journal; the ledger takes finals in the order of their sequence. It waits for the ledger as bytes: rows as
 * objects live long enough for the garbage collector to copy each of them.
 */
export class Settlement implements EncodedSettlement {
  readonly sequence: number;
  readonly callId: string;
  readonly organizationId: string;
  readonly row: Buffer;
  /** Of the lease that the call was made under; 0 for a call of an earlier process. */
  readonly leaseGeneration: bigint;

  constructor({ callId, organizationId }: UsageLog, { sequence, row, leaseGeneration }: FinalRow) {
    this.sequence = sequence;
    this.callId = callId;
    this.organizationId = organizationId;
    this.row = row;
    this.leaseGeneration = leaseGeneration;
  }

  /** Decoded each time. */
  get log(): UsageLog {
    return UsageLog.decode(this.row);
  }
}

/** A final as it was read from a file. */
export function readFinal(frame: Pick<Frame, "type" | "payload" | "sequence">, leaseGeneration: bigint): Settlement {
  const log = unpackFinal(frame);
  return new Settlement(log, { sequence: frame.sequence, row: encodeRow(log), leaseGeneration });
}

export function isFinal(type: number): boolean {
  return type === RECORD_TYPE.final || type === RECORD_TYPE.positionalFinal;
}

/** The row of a final, in whichever version's format it was written. */
export function unpackFinal({ type, payload }: Pick<Frame, "type" | "payload">): UsageLog {
  return type === RECORD_TYPE.final ? UsageLog.decode(payload) : unpackPositionalFinal(payload);
}
