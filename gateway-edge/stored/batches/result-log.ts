import type { Clock } from "../../../common/clock.ts";
import { asAppError, isTransient } from "../../../common/errors.ts";
import type { RecordStore, RecordWrite } from "../records/records.ts";
import { advanced, type FinishedLine, type LineResult } from "./batch-body.ts";
import type { LeasedBatch } from "./leased-batch.ts";

/** Some results of a batch: lines in the record itself, or one line in the record's content if it is too large for a record. */
export type BatchPart = { readonly lines: readonly LineResult[] } | { readonly contentIsAnswer: boolean };

const FLUSH_MS = 1000;
const PART_LINES_MAX = 100;
const PART_CHARACTERS_MAX = 512 * 1024;
/** Below the size limit of a record, with room for non-ASCII characters. */
const RECORD_CHARACTERS_MAX = 700_000;
/** Results that wait to be written; above this limit no new line starts. */
const WAITING_MAX = 400;
const PART_LIFE_MS = 48 * 3_600_000;

export function partId(batchId: string, number: number): string {
  return `${batchId}.part-${number}`;
}

/**
 * Writes the results of a batch about once a second, with the batch's progress in the same commit. After a crash only the unwritten lines
 * are repeated.
 */
export class ResultLog {
  readonly #deps: { readonly records: RecordStore; readonly clock: Clock };
  readonly #leased: LeasedBatch;
  #waiting: FinishedLine[] = [];
  #characters = 0;
  #flushing: Promise<void> | undefined;
  #flushedAtMs: number;

  constructor(deps: { records: RecordStore; clock: Clock }, leased: LeasedBatch) {
    this.#deps = deps;
    this.#leased = leased;
    this.#flushedAtMs = deps.clock.monotonicMs();
  }

  get isFull(): boolean {
    return this.#waiting.length >= WAITING_MAX;
  }

  add(line: FinishedLine): void {
    this.#waiting.push(line);
    this.#characters += line.result?.text.length ?? 0;
  }

  /** Writes if there are enough results, or after a second. If the control plane is unavailable, the next turn tries again. */
  async flushIfDue(): Promise<void> {
    const isDue = this.#deps.clock.monotonicMs() - this.#flushedAtMs >= FLUSH_MS;
    const isLarge = this.#waiting.length >= PART_LINES_MAX || this.#characters >= PART_CHARACTERS_MAX;
    if (this.#waiting.length === 0 || !(isDue || isLarge)) return;
    await this.flush().catch((thrown: unknown) => {
      if (!isTransient(asAppError(thrown))) throw thrown;
      this.#flushedAtMs = this.#deps.clock.monotonicMs();
    });
  }

  /** Resolves when everything added so far is stored. */
  async flush(): Promise<void> {
    while (this.#flushing) await this.#flushing;
    if (this.#waiting.length === 0) return;
    this.#flushing = this.#write().finally(() => {
      this.#flushing = undefined;
    });
    await this.#flushing;
    await this.flush();
  }

  async #write(): Promise<void> {
    const lines = this.#nextPart();
    const number = this.#leased.body.parts;
    const part = await this.#partWrite(number, lines);
    await this.#leased.write((body) => advanced(body, lines), { more: [part], isDone: (body) => body.parts > number });
    this.#waiting = this.#waiting.slice(lines.length);
    this.#characters = this.#waiting.reduce((sum, { result }) => sum + (result?.text.length ?? 0), 0);
    this.#flushedAtMs = this.#deps.clock.monotonicMs();
  }

  /** The lines that fit one record; a line that does not fit is a part of its own. */
  #nextPart(): FinishedLine[] {
    let characters = 0;
    const count = this.#waiting.findIndex(({ result }, index) => {
      characters += result?.text.length ?? 0;
      return index > 0 && (characters > RECORD_CHARACTERS_MAX || index >= PART_LINES_MAX * 2);
    });
    return count < 0 ? [...this.#waiting] : this.#waiting.slice(0, count);
  }

  async #partWrite(number: number, lines: readonly FinishedLine[]): Promise<RecordWrite> {
    const id = partId(this.#leased.id, number);
    const results = lines.flatMap(({ result }) => (result ? [result] : []));
    const [first] = results;
    let body: BatchPart = { lines: results };
    if (results.length === 1 && first && first.text.length > RECORD_CHARACTERS_MAX) {
      await this.#deps.records.putContent(this.#leased.teamId, id, onePiece(first.text), { isTemporary: true });
      body = { contentIsAnswer: first.isAnswer };
    }
    const nowMs = this.#deps.clock.now();
    // Parts expire in case the edge dies after the batch has ended and before they are removed.
    return {
      type: "create",
      kind: "batch_part",
      id,
      parentId: this.#leased.id,
      body,
      createdAtMs: nowMs,
      expiresAtMs: nowMs + PART_LIFE_MS,
    };
  }
}

async function* onePiece(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
