import { parseTraceparent } from "../../../common/tracing/traceparent.ts";
import type { CallRequest } from "../http-exchange.ts";

/** The tag of the calls of a trace. */
export const traceTag = (traceId: string): string => `trace:${traceId}`;

/** The tag of the trace that a client names with a valid `traceparent`, also where the edge itself traces nothing; else none. */
export function traceTagsOf({ headers }: Pick<CallRequest, "headers">): readonly string[] {
  const header = headers["traceparent"];
  const parent = header === undefined ? undefined : parseTraceparent(header);
  return parent ? [traceTag(parent.traceId)] : NONE;
}

const NONE: readonly string[] = [];
