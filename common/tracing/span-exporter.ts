import { type Clock, pause } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { Span } from "./span.ts";

/** What a receiver did with a batch. */
export type ExportOutcome =
  | { readonly type: "taken"; readonly rejected: number }
  /** `again`: a later attempt may succeed. */
  | { readonly type: "failed"; readonly reason: string; readonly again: boolean };

/** Sends one batch of spans. Never rejects. */
export type SendSpans = (spans: readonly Span[], signal: AbortSignal) => Promise<ExportOutcome>;

export interface SpanExporterDeps {
  readonly send: SendSpans;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Spans since the start, by what became of them. */
export interface SpanFigures {
  /** The receiver has them. */
  readonly exported: number;
  /** There was no room in the queue. */
  readonly dropped: number;
  /** The receiver refused them, or could not be reached for too long. */
  readonly failed: number;
  readonly queued: number;
}

/** Where ended spans go. `add` never waits and never throws. */
export interface SpanSink {
  add(span: Span): void;
}

export const QUEUE_MAX = 8192;
export const BATCH_MAX = 512;
/** Texts of callers in the queue, and in a batch, whose texts are redacted and encoded in one turn of the process. */
export const QUEUE_CONTENT_BYTES_MAX = 32 * 1024 * 1024;
export const BATCH_CONTENT_BYTES_MAX = 128 * 1024;
const GATHER_MS = 1000;
const ATTEMPTS_MAX = 6;
const BACK_OFF_MS = 1000;
const BACK_OFF_MS_MAX = 30_000;

/**
 * Sends spans in batches, one after the other. A receiver that does not answer delays no call: the queue has a limit, spans beyond it are
 * dropped and counted.
 */
export class SpanExporter implements SpanSink {
  readonly #deps: SpanExporterDeps;
  readonly #stopping = new AbortController();
  #queue: Span[] = [];
  #contentBytes = 0;
  #running: Promise<void> | undefined;
  #endGathering: () => void = () => {};
  #isFlushing = false;
  #isDown = false;
  readonly #counts = { exported: 0, dropped: 0, failed: 0 };

  constructor(deps: SpanExporterDeps) {
    this.#deps = deps;
  }

  get figures(): SpanFigures {
    return { ...this.#counts, queued: this.#queue.length };
  }

  add(span: Span): void {
    if (this.#queue.length >= QUEUE_MAX || this.#stopping.signal.aborted) {
      this.#counts.dropped++;
      return;
    }
    this.#queue.push(this.#withinRoom(span));
    this.#running ??= this.#run();
    if (this.#hasBatch()) this.#endGathering();
  }

  /** Sends what is queued, for at most `milliseconds`; afterwards spans are dropped. */
  async stop(milliseconds: number): Promise<void> {
    this.#isFlushing = true;
    this.#endGathering();
    const cancel = this.#deps.clock.after(milliseconds, () => this.#stopping.abort());
    await this.#running;
    cancel();
    this.#stopping.abort();
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      // Also without gathering, nothing is encoded in the turn of the caller that adds a span.
      await (this.#hasBatch() || this.#isFlushing ? undefined : this.#gather());
      await this.#bring(this.#nextBatch());
    }
    this.#running = undefined;
  }

  #hasBatch(): boolean {
    return this.#queue.length >= BATCH_MAX || this.#contentBytes >= BATCH_CONTENT_BYTES_MAX;
  }

  /** A span whose texts have no room is exported without them. */
  #withinRoom(span: Span): Span {
    if (span.content === undefined) return span;
    if (this.#contentBytes + span.content.bytes > QUEUE_CONTENT_BYTES_MAX) return { ...span, content: undefined };
    this.#contentBytes += span.content.bytes;
    return span;
  }

  #nextBatch(): readonly Span[] {
    let bytes = 0;
    const over = this.#queue.findIndex(({ content }, index) => {
      bytes += content?.bytes ?? 0;
      return index > 0 && (index >= BATCH_MAX || bytes > BATCH_CONTENT_BYTES_MAX);
    });
    const batch = this.#queue.splice(0, over === -1 ? BATCH_MAX : over);
    for (const { content } of batch) this.#contentBytes -= content?.bytes ?? 0;
    return batch;
  }

  #gather(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#deps.clock.after(GATHER_MS, resolve);
      this.#endGathering = () => {
        cancel();
        resolve();
      };
    });
  }

  async #bring(batch: readonly Span[]): Promise<void> {
    const { signal } = this.#stopping;
    for (let attempt = 1, delayMs = BACK_OFF_MS; ; attempt++, delayMs = Math.min(delayMs * 2, BACK_OFF_MS_MAX)) {
      const outcome = signal.aborted ? STOPPED : await this.#deps.send(batch, signal);
      if (outcome.type === "taken") return this.#taken(batch, outcome.rejected);
      this.#note(outcome.reason);
      if (!outcome.again || attempt >= ATTEMPTS_MAX || signal.aborted) {
        this.#counts.failed += batch.length;
        return;
      }
      await pause(this.#deps.clock, delayMs, signal);
    }
  }

  #taken({ length }: readonly Span[], rejected: number): void {
    this.#counts.exported += length - rejected;
    this.#counts.failed += rejected;
    if (this.#isDown) this.#deps.logger.info({ ...this.figures }, "traces are exported again");
    this.#isDown = false;
  }

  /** One line for an outage, however long it lasts. */
  #note(reason: string): void {
    if (this.#isDown) return;
    this.#isDown = true;
    this.#deps.logger.warn({ reason }, "traces cannot be exported; calls are not affected (OTEL_EXPORTER_OTLP_ENDPOINT)");
  }
}

const STOPPED: ExportOutcome = { type: "failed", reason: "the process stopped", again: false };
