import type { Clock } from "../../common/clock.ts";
import { asAppError } from "../../common/errors.ts";
import type { Random } from "../../common/random.ts";
import type { SpanSink } from "../../common/tracing/span-exporter.ts";
import { parseTraceparent, type TraceParent } from "../../common/tracing/traceparent.ts";
import type { UsageLog } from "../../proto/gen/tributary/usage/v1/usage.ts";

const SPAN_ID_BYTES = 8;

type Settlements = readonly { readonly log?: UsageLog | undefined }[];

interface Traced {
  readonly log: UsageLog;
  readonly parent: TraceParent;
}

/** The spans of settlements: one for each call that its edge traced, in the call's own trace. */
export class SettlementSpans {
  readonly #deps: { readonly sink: SpanSink; readonly clock: Clock; readonly random: Random };

  constructor(deps: { sink: SpanSink; clock: Clock; random: Random }) {
    this.#deps = deps;
  }

  /** Waits for the settlement of a batch, and exports its spans. */
  async around<Outcome>(settlements: Settlements, settling: Promise<Outcome>): Promise<Outcome> {
    const end = this.#begin(settlements);
    try {
      const outcome = await settling;
      end();
      return outcome;
    } catch (thrown) {
      end(asAppError(thrown).code);
      throw thrown;
    }
  }

  #begin(settlements: Settlements): (error?: string) => void {
    const { clock } = this.#deps;
    const traced = settlements.flatMap(({ log }) => tracedOf(log));
    const [startMs, monotonicMs] = [clock.now(), clock.monotonicMs()];
    return (error) => {
      const endMs = startMs + clock.monotonicMs() - monotonicMs;
      for (const call of traced) this.#export(call, { startMs, endMs, calls: settlements.length, error });
    };
  }

  #export(
    { log, parent }: Traced,
    { startMs, endMs, calls, error }: { startMs: number; endMs: number; calls: number; error: string | undefined },
  ): void {
    const { sink, random } = this.#deps;
    sink.add({
      traceId: parent.traceId,
      spanId: random.bytes(SPAN_ID_BYTES).toString("hex"),
      parentSpanId: parent.spanId,
      name: "settle",
      kind: "consumer",
      startMs,
      endMs,
      attributes: {
        "tributary.call_id": log.callId,
        "tributary.cost_nano_usd": log.cost,
        "tributary.settlement.calls": calls,
        "error.type": error,
      },
      error,
    });
  }
}

function tracedOf(log: UsageLog | undefined): Traced[] {
  if (log?.traceparent === undefined) return [];
  const parent = parseTraceparent(log.traceparent);
  return parent?.isSampled ? [{ log, parent }] : [];
}
