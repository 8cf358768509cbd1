import { pause } from "../../../../common/clock.ts";
import type { CallOptions } from "../../../../common/grpc/client.ts";
import type { EdgeDeps } from "../../../deps.ts";

const LOOK_MS = 250;
const PAGE = 200;
/** Proxies close idle connections. */
const KEEP_ALIVE_MS = 15_000;
const OVER = new Set(["completed", "failed", "stopped"]);

/** The sequence number of a Last-Event-ID; 0, the beginning, for anything else. */
export function sequenceOf(lastEventId: string | undefined): bigint {
  return lastEventId !== undefined && /^[0-9]{1,15}$/.test(lastEventId) ? BigInt(lastEventId) : 0n;
}

/** A federation's events as server-sent events, until the federation has ended or the client disconnects. */
export async function* federationEvents(
  { control, clock, openCalls: { stopping } }: Pick<EdgeDeps, "control" | "clock" | "openCalls">,
  { federationId, after, options }: { federationId: string; after: bigint; options: CallOptions },
): AsyncGenerator<string> {
  let last = after;
  let sentAtMs = clock.monotonicMs();
  let isOpen = false;
  // A client whose edge stops reconnects to another one with the id of its last event.
  const ended = options.signal ? AbortSignal.any([options.signal, stopping]) : stopping;
  while (!ended.aborted) {
    const { events, state } = await control.training.listEvents({ federationId, after: last, limit: PAGE }, options);
    // Headers are sent with the first part, so a comment is sent at once.
    if (!isOpen) yield ": following\n\n";
    isOpen = true;
    for (const { sequence, type, data, at } of events) {
      const body = { ...(JSON.parse(data) as object), sequence: Number(sequence), at: at?.toISOString() };
      yield `id: ${sequence}\nevent: ${type}\ndata: ${JSON.stringify(body)}\n\n`;
      last = sequence;
      sentAtMs = clock.monotonicMs();
    }
    if (events.length === PAGE) continue;
    if (OVER.has(state)) {
      yield `event: end\ndata: ${JSON.stringify({ state })}\n\n`;
      return;
    }
    if (clock.monotonicMs() - sentAtMs > KEEP_ALIVE_MS) {
      yield ": keep-alive\n\n";
      sentAtMs = clock.monotonicMs();
    }
    await pause(clock, LOOK_MS, ended);
  }
}
