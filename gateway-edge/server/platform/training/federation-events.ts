import type { CallOptions } from "../../../../common/grpc/client.ts";
import type { EdgeDeps } from "../../../deps.ts";

const LOOK_MS = 250;
const PAGE = 200;
/** A line at rest is cut by proxies. */
const KEEP_ALIVE_MS = 15_000;
const OVER = new Set(["completed", "failed", "stopped"]);

/** The place in the stream that a Last-Event-ID names; what is none of our ids is its beginning. */
export function placeOf(lastEventId: string | undefined): bigint {
  return lastEventId !== undefined && /^[0-9]{1,15}$/.test(lastEventId) ? BigInt(lastEventId) : 0n;
}

/** A federation's events as frames of an event stream, for as long as more may come and somebody reads. */
export async function* federationEvents(
  { control, clock }: Pick<EdgeDeps, "control" | "clock">,
  { federationId, after, options }: { federationId: string; after: bigint; options: CallOptions },
): AsyncGenerator<string> {
  let last = after;
  let spokenMs = clock.monotonicMs();
  let isOpen = false;
  while (!options.signal?.aborted) {
    const { events, state } = await control.training.listEvents({ federationId, after: last, limit: PAGE }, options);
    // Headers leave with the first part, and whoever follows wants to know at once that he does.
    if (!isOpen) yield ": following\n\n";
    isOpen = true;
    for (const { sequence, type, data, at } of events) {
      const body = { ...(JSON.parse(data) as object), sequence: Number(sequence), at: at?.toISOString() };
      yield `id: ${sequence}\nevent: ${type}\ndata: ${JSON.stringify(body)}\n\n`;
      last = sequence;
      spokenMs = clock.monotonicMs();
    }
    if (events.length === PAGE) continue;
    if (OVER.has(state)) {
      yield `event: end\ndata: ${JSON.stringify({ state })}\n\n`;
      return;
    }
    if (clock.monotonicMs() - spokenMs > KEEP_ALIVE_MS) {
      yield ": keep-alive\n\n";
      spokenMs = clock.monotonicMs();
    }
    await clock.sleep(LOOK_MS, options.signal ?? undefined).catch(() => {});
  }
}
