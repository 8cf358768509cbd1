import { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import type { Frame } from "./frame.ts";
import { unpackPositionalFinal } from "./positional-final.ts";
import { RECORD_TYPE } from "./records.ts";

/** A final with its sequence in the journal; the ledger takes finals in the order of their sequence. */
export interface Settlement {
  readonly sequence: number;
  readonly log: UsageLog;
  /** Its encoding, while it is in memory. */
  readonly row?: Buffer | undefined;
}

export function isFinal(type: number): boolean {
  return type === RECORD_TYPE.final || type === RECORD_TYPE.positionalFinal;
}

/** The row of a final, in whichever version's format it was written. */
export function unpackFinal({ type, payload }: Pick<Frame, "type" | "payload">): UsageLog {
  return type === RECORD_TYPE.final ? UsageLog.decode(payload) : unpackPositionalFinal(payload);
}
