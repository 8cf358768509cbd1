import type { Clock } from "../../../common/clock.ts";
import type { AppError } from "../../../common/errors.ts";
import type { Random } from "../../../common/random.ts";
import type { Attributes, Span, SpanContent, SpanEvent, SpanKind } from "../../../common/tracing/span.ts";
import type { SpanSink } from "../../../common/tracing/span-exporter.ts";
import { formatTraceparent, type TraceParent } from "../../../common/tracing/traceparent.ts";
import type { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import {
  answerAttributes,
  attemptAttributes,
  attemptName,
  callAttributes,
  finishReasonsOf,
  type TracedAttempt,
  type TracedDeployment,
} from "./gen-ai.ts";
import { spanContent, type TracedContent } from "./messages.ts";

export interface CallTraceDeps {
  readonly sink: SpanSink;
  readonly clock: Clock;
  readonly random: Random;
}

export interface TraceStart {
  readonly callId: string;
  readonly traceId: string;
  readonly parent: TraceParent | undefined;
  readonly isSampled: boolean;
}

/** The root span's end: what the client got. */
export interface TraceEnd {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly error?: string | undefined;
}

interface OpenAttempt extends TracedAttempt {
  readonly spanId: string;
  readonly startMs: number;
}

const SPAN_ID_BYTES = 8;

/** The spans of one call: the root at the edge, and one for each attempt at a provider. A call that is not sampled only passes its ids on. */
export class CallTrace {
  readonly #deps: CallTraceDeps;
  readonly #start: TraceStart;
  readonly #spanId: string;
  readonly #startMs: number;
  readonly #monotonicMs: number;
  #attempt: OpenAttempt | undefined;
  #attempts = 0;
  #firstTokenMs: number | undefined;
  #finishReasons: string[] = [];
  /** Runs of the data path that are not settled. */
  #unsettled = 0;
  #log: UsageLog | undefined;
  #end: TraceEnd | undefined;
  #isFinished = false;

  constructor(deps: CallTraceDeps, start: TraceStart) {
    this.#deps = deps;
    this.#start = start;
    this.#spanId = this.#newSpanId();
    this.#startMs = deps.clock.now();
    this.#monotonicMs = deps.clock.monotonicMs();
  }

  get traceId(): string {
    return this.#start.traceId;
  }

  /** All its spans have ended. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** For the settlement; undefined if the call is not sampled. */
  get settlementParent(): string | undefined {
    return this.#start.isSampled ? this.#traceparent(this.#spanId) : undefined;
  }

  /** A run of the data path begins: its settlement will come. */
  running(): void {
    this.#unsettled++;
  }

  /** A deployment is about to be asked. Returns the `traceparent` for it. */
  attempting(deployment: TracedDeployment, { operation, stream }: Pick<TracedAttempt, "operation" | "stream">): string {
    const { callId } = this.#start;
    const spanId = this.#newSpanId();
    this.#attempts++;
    this.#attempt = { operation, stream, deployment, callId, number: this.#attempts, spanId, startMs: this.#nowMs() };
    return this.#traceparent(spanId);
  }

  attemptFailed({ error, upstreamStatus }: { readonly error: AppError; readonly upstreamStatus?: number | undefined }): void {
    this.#endAttempt({ "error.type": error.code, "http.response.status_code": upstreamStatus }, error.code);
  }

  /** A whole answer has arrived. */
  answered(answer: unknown): void {
    this.#finishReasons = finishReasonsOf(answer);
  }

  /** Notes the first token and why the stream ends. */
  async *observed<Part extends { readonly type: string }>(parts: AsyncIterable<Part>): AsyncGenerator<Part> {
    for await (const part of parts) {
      if (part.type === "finish") this.#finishReasons.push((part as unknown as { reason: string }).reason);
      else if (part.type !== "settled") this.#firstTokenMs ??= this.#nowMs();
      yield part;
    }
  }

  /** The call has its row. */
  settling(log: UsageLog, content?: TracedContent): void {
    this.#log = log;
    const error = log.status === "error" ? (log.errorCode ?? "error") : undefined;
    this.#endAttempt(answerAttributes(log, this.#finishReasons), error, content && spanContent(content));
    if (this.#unsettled > 0) this.#unsettled--;
    this.#finish();
  }

  /** The client has its answer, or left. */
  closed(end: TraceEnd): void {
    this.#end = end;
    this.#finish();
  }

  #finish(): void {
    const end = this.#end;
    if (end === undefined || this.#unsettled > 0 || this.#isFinished) return;
    this.#isFinished = true;
    const { callId, parent } = this.#start;
    const call = this.#log ? callAttributes(this.#log) : {};
    const attributes = { "tributary.call_id": callId, "openinference.span.kind": "CHAIN", ...call, ...end.attributes };
    this.#export({ ...end, attributes, spanId: this.#spanId, parentSpanId: parent?.spanId, startMs: this.#startMs });
  }

  #endAttempt(attributes: Attributes, error: string | undefined, content?: SpanContent): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    this.#attempt = undefined;
    const { spanId, startMs } = attempt;
    const first = this.#firstTokenMs;
    this.#export({
      spanId,
      parentSpanId: this.#spanId,
      name: attemptName(attempt),
      kind: "client",
      startMs,
      attributes: { ...attemptAttributes(attempt), ...attributes, ...(first === undefined ? {} : firstTokenAttributes(first)) },
      content,
      events: first === undefined ? undefined : [firstTokenEvent(first, startMs)],
      error,
    });
  }

  #export(span: Omit<Span, "traceId" | "endMs">): void {
    const { traceId, isSampled } = this.#start;
    if (isSampled) this.#deps.sink.add({ ...span, traceId, endMs: this.#nowMs() });
  }

  #traceparent(spanId: string): string {
    const { traceId, isSampled } = this.#start;
    return formatTraceparent({ traceId, spanId, isSampled });
  }

  #newSpanId(): string {
    return this.#deps.random.bytes(SPAN_ID_BYTES).toString("hex");
  }

  /** Wall-clock time that does not jump during a call. */
  #nowMs(): number {
    return this.#startMs + this.#deps.clock.monotonicMs() - this.#monotonicMs;
  }
}

/** Langfuse computes the time to the first token from it. */
const firstTokenAttributes = (atMs: number): Attributes => ({
  "langfuse.observation.completion_start_time": new Date(atMs).toISOString(),
});

const firstTokenEvent = (atMs: number, startMs: number): SpanEvent => ({
  name: "gen_ai.first_token",
  atMs,
  attributes: { "tributary.time_to_first_token_ms": atMs - startMs },
});
