import type { Clock } from "../../../common/clock.ts";
import { asAppError, isTransient } from "../../../common/errors.ts";
import type { RecordStore, RecordWrite } from "../records/records.ts";
import { advanced, type FinishedLine, type LineResult } from "./batch-body.ts";
import type { BatchHold } from "./batch-hold.ts";

/** Some results of a batch: lines in the record itself, or one that is too large for a record in its content. */
export type BatchPart = { readonly lines: readonly LineResult[] } | { readonly contentIsAnswer: boolean };

const FLUSH_MS = 1000;
const PART_LINES_MAX = 100;
const PART_CHARACTERS_MAX = 512 * 1024;
/** With room for other characters than ASCII within the largest record. */
const RECORD_CHARACTERS_MAX = 700_000;
/** Lines that wait for their part; no new line starts above it. */
const WAITING_MAX = 400;
const PART_LIFE_MS = 48 * 3_600_000;

export function partId(batchId: string, number: number): string {
  return `${batchId}.part-${number}`;
}

/**
 * What came of the lines of a batch, kept as it comes: a second's worth at a time, with the batch's progress in the same commit. An
 * edge that dies loses what it had not written, and only that is done again.
 */
export class ResultLog {
  readonly #deps: { readonly records: RecordStore; readonly clock: Clock };
  readonly #hold: BatchHold;
  #waiting: FinishedLine[] = [];
  #characters = 0;
  #flushing: Promise<void> | undefined;
  #flushedAtMs: number;

  constructor(deps: { records: RecordStore; clock: Clock }, hold: BatchHold) {
    this.#deps = deps;
    this.#hold = hold;
    this.#flushedAtMs = deps.clock.monotonicMs();
  }

  get isFull(): boolean {
    return this.#waiting.length >= WAITING_MAX;
  }

  add(line: FinishedLine): void {
    this.#waiting.push(line);
    this.#characters += line.result?.text.length ?? 0;
  }

  /** Writes when there is enough, or enough time has passed. A control plane that is away is asked again with the next turn. */
  async flushIfDue(): Promise<void> {
    const isDue = this.#deps.clock.monotonicMs() - this.#flushedAtMs >= FLUSH_MS;
    const isLarge = this.#waiting.length >= PART_LINES_MAX || this.#characters >= PART_CHARACTERS_MAX;
    if (this.#waiting.length === 0 || !(isDue || isLarge)) return;
    await this.flush().catch((thrown: unknown) => {
      if (!isTransient(asAppError(thrown))) throw thrown;
      this.#flushedAtMs = this.#deps.clock.monotonicMs();
    });
  }

  /** Resolves when everything added so far is kept. */
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
    const number = this.#hold.body.parts;
    const part = await this.#partWrite(number, lines);
    await this.#hold.write((body) => advanced(body, lines), { more: [part], isDone: (body) => body.parts > number });
    this.#waiting = this.#waiting.slice(lines.length);
    this.#characters = this.#waiting.reduce((sum, { result }) => sum + (result?.text.length ?? 0), 0);
    this.#flushedAtMs = this.#deps.clock.monotonicMs();
  }

  /** As many as fit a record; one that does not fit is a part of its own. */
  #nextPart(): FinishedLine[] {
    let characters = 0;
    const count = this.#waiting.findIndex(({ result }, index) => {
      characters += result?.text.length ?? 0;
      return index > 0 && (characters > RECORD_CHARACTERS_MAX || index >= PART_LINES_MAX * 2);
    });
    return count < 0 ? [...this.#waiting] : this.#waiting.slice(0, count);
  }

  async #partWrite(number: number, lines: readonly FinishedLine[]): Promise<RecordWrite> {
    const id = partId(this.#hold.id, number);
    const results = lines.flatMap(({ result }) => (result ? [result] : []));
    const [first] = results;
    let body: BatchPart = { lines: results };
    if (results.length === 1 && first && first.text.length > RECORD_CHARACTERS_MAX) {
      await this.#deps.records.putContent(this.#hold.teamId, id, onePiece(first.text));
      body = { contentIsAnswer: first.isAnswer };
    }
    const nowMs = this.#deps.clock.now();
    // Should the edge die after the batch has ended and before they are removed, time removes them.
    return { type: "create", kind: "batch_part", id, parentId: this.#hold.id, body, createdAtMs: nowMs, expiresAtMs: nowMs + PART_LIFE_MS };
  }
}

async function* onePiece(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
