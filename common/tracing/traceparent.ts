/** The place of a span in a trace, as W3C Trace Context names it. */
export interface TraceParent {
  /** 32 hexadecimal digits in lower case. */
  readonly traceId: string;
  /** 16 hexadecimal digits in lower case. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_VERSION = "ff";
const FIRST_VERSION = "00";
const SAMPLED_FLAG = 1;

/** Reads a `traceparent` header; undefined if it is absent or not valid, as the specification says: the trace then begins here. */
export function parseTraceparent(header: string | readonly string[] | undefined): TraceParent | undefined {
  if (typeof header !== "string") return undefined;
  const [, version, traceId = "", spanId = "", flags = "", rest] = TRACEPARENT.exec(header) ?? [];
  if (version === undefined || version === NO_VERSION || isZero(traceId) || isZero(spanId)) return undefined;
  // Later versions may add fields at the end.
  if (version === FIRST_VERSION && rest !== undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED_FLAG) === SAMPLED_FLAG };
}

export function formatTraceparent({ traceId, spanId, isSampled }: TraceParent): string {
  return `${FIRST_VERSION}-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

const isZero = (digits: string): boolean => /^0+$/.test(digits);
