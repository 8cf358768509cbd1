import { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { type EncodedSettlement, encodeRow } from "../../access/clients/settle-request.ts";
import type { Frame } from "./frame.ts";
import { unpackPositionalFinal } from "./positional-final.ts";
import { RECORD_TYPE } from "./records.ts";

/**
 * A final with its sequence in the journal; the ledger takes finals in the order of their sequence. It waits for the ledger as bytes: rows as
 * objects live long enough for the garbage collector to copy each of them.
 */
export class Settlement implements EncodedSettlement {
  readonly sequence: number;
  readonly callId: string;
  readonly organizationId: string;
  readonly row: Buffer;
  /** Of the lease that the call was made under; known when it is sent. */
  leaseGeneration = 0n;

  constructor(sequence: number, { callId, organizationId }: UsageLog, row: Buffer) {
    this.sequence = sequence;
    this.callId = callId;
    this.organizationId = organizationId;
    this.row = row;
  }

  /** Decoded each time. */
  get log(): UsageLog {
    return UsageLog.decode(this.row);
  }
}

/** A final as it was read from a file. */
export function readFinal(frame: Pick<Frame, "type" | "payload" | "sequence">): Settlement {
  const log = unpackFinal(frame);
  return new Settlement(frame.sequence, log, encodeRow(log));
}

export function isFinal(type: number): boolean {
  return type === RECORD_TYPE.final || type === RECORD_TYPE.positionalFinal;
}

/** The row of a final, in whichever version's format it was written. */
export function unpackFinal({ type, payload }: Pick<Frame, "type" | "payload">): UsageLog {
  return type === RECORD_TYPE.final ? UsageLog.decode(payload) : unpackPositionalFinal(payload);
}
