import { setImmediate as turn } from "node:timers/promises";
import { type Clock, pause } from "../../../common/clock.ts";
import type { Logger } from "../../../common/logger.ts";
import type { CallContent } from "../../../proto/gen/tributary/contents/v1/contents.ts";
import type { ControlPlane } from "../../access/clients/control-plane.ts";
import type { EndedContent } from "./call-content.ts";

export interface ContentLaneDeps {
  readonly control: { readonly contents: Pick<ControlPlane["contents"], "storeContents"> };
  readonly clock: Clock;
  readonly logger: Logger;
  /** A content has left the edge, or was dropped. */
  done(content: EndedContent): void;
}

/** Contents since the start, by what became of them. */
export interface ContentFigures {
  readonly stored: number;
  /** The organization or the key does not store them any more. */
  readonly refused: number;
  readonly dropped: number;
}

/** Small batches with pauses, so that settlements never wait long behind them: at most 5 MB a second of one edge. */
const GATHER_MS = 100;
const BATCH_BYTES_MAX = 512 * 1024;
const BATCH_MAX = 100;
const DEADLINE_MS = 5000;
const ATTEMPTS_MAX = 5;
const BACK_OFF_MS = 1000;
/** How much longer it pauses than it redacts. */
const PAUSE_SHARE = 3;

/** Sends contents to the control plane, one batch after the other, beside settlements. What cannot be sent is dropped. */
export class ContentLane {
  readonly #deps: ContentLaneDeps;
  readonly #stopping = new AbortController();
  #queue: EndedContent[] = [];
  #running: Promise<void> | undefined;
  #isFlushing = false;
  #isDown = false;
  readonly #counts = { stored: 0, refused: 0, dropped: 0 };

  constructor(deps: ContentLaneDeps) {
    this.#deps = deps;
  }

  get figures(): ContentFigures {
    return { ...this.#counts };
  }

  dropped(): void {
    this.#counts.dropped++;
  }

  /** Never waits and never throws. */
  add(content: EndedContent): void {
    this.#queue.push(content);
    this.#running ??= this.#run();
  }

  /** Sends what is queued, for at most `milliseconds`. */
  async stop(milliseconds: number): Promise<void> {
    this.#isFlushing = true;
    const cancel = this.#deps.clock.after(milliseconds, () => this.#stopping.abort());
    await this.#running;
    cancel();
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      if (!this.#isFlushing) await pause(this.#deps.clock, GATHER_MS, this.#stopping.signal);
      const batch = this.#nextBatch();
      if (this.#stopping.signal.aborted) this.#counts.dropped += batch.length;
      else await this.#bring(batch);
      for (const content of batch) this.#deps.done(content);
    }
    this.#running = undefined;
  }

  #nextBatch(): readonly EndedContent[] {
    let bytes = 0;
    const over = this.#queue.findIndex((content, index) => {
      bytes += content.bytes;
      return index > 0 && (bytes > BATCH_BYTES_MAX || index >= BATCH_MAX);
    });
    return this.#queue.splice(0, over === -1 ? this.#queue.length : over);
  }

  async #bring(batch: readonly EndedContent[]): Promise<void> {
    const contents = await this.#messages(batch);
    for (let attempt = 1; contents.length > 0; attempt++) {
      if (await this.#sent(contents)) return;
      if (attempt >= ATTEMPTS_MAX || this.#stopping.signal.aborted) {
        this.#counts.dropped += contents.length;
        return;
      }
      await pause(this.#deps.clock, BACK_OFF_MS * attempt, this.#stopping.signal);
    }
  }

  /** Redacted one by one, with pauses between them: calls have at least three quarters of the thread, whatever texts there are. */
  async #messages(batch: readonly EndedContent[]): Promise<CallContent[]> {
    const { clock } = this.#deps;
    const messages: CallContent[] = [];
    for (const content of batch) {
      const sinceMs = clock.monotonicMs();
      messages.push(content.message());
      const tookMs = Math.round(clock.monotonicMs() - sinceMs);
      await (tookMs === 0 || this.#isFlushing ? turn() : pause(clock, tookMs * PAUSE_SHARE, this.#stopping.signal));
    }
    return messages;
  }

  async #sent(contents: CallContent[]): Promise<boolean> {
    try {
      const { stored, refused } = await this.#deps.control.contents.storeContents({ contents }, { deadlineMs: DEADLINE_MS });
      this.#counts.stored += stored;
      this.#counts.refused += refused;
      this.#isDown = false;
      return true;
    } catch (error) {
      if (!this.#isDown) this.#deps.logger.warn({ error: String(error) }, "prompts and answers cannot be stored; calls are not affected");
      this.#isDown = true;
      return false;
    }
  }
}
