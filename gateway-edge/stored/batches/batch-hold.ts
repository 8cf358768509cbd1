import { asAppError, type ErrorCode } from "../../../common/errors.ts";
import { ownerOf } from "../records/own-record.ts";
import type { RecordOf, RecordStore, RecordWrite } from "../records/records.ts";
import type { Work } from "../records/work.ts";
import type { BatchBody } from "./batch-body.ts";

const ATTEMPTS_MAX = 10;
/** Refusals and failures that a write meets when it was done before and its answer was lost. */
const MAY_BE_DONE: readonly ErrorCode[] = ["RECORD_CHANGED", "ALREADY_EXISTS", "DB_TIMEOUT", "UNAVAILABLE"];

export interface WriteOptions {
  readonly isDone: (body: BatchBody) => boolean;
  readonly more?: readonly RecordWrite[];
  /** No more work is wanted. */
  readonly isEnd?: boolean;
}

/** A batch that this edge works on: the only one that writes to it, but for whoever cancels it. */
export class BatchHold {
  readonly work: Work;
  readonly #records: RecordStore;
  #record: RecordOf<BatchBody>;

  constructor(records: RecordStore, record: RecordOf<BatchBody>, work: Work) {
    this.#records = records;
    this.#record = record;
    this.work = work;
  }

  get id(): string {
    return this.#record.id;
  }

  get teamId(): string {
    return this.#record.teamId;
  }

  get body(): BatchBody {
    return this.#record.body;
  }

  /** Somebody wrote to it: the next change starts from there. */
  see(record: RecordOf<BatchBody>): void {
    if (record.revision > this.#record.revision) this.#record = record;
  }

  /**
   * Writes what `change` makes of the batch, with `more` in the same commit. Under the claim: once it is lost nothing is written. An
   * answer that was lost is asked for again; `isDone` tells whether the change is there already.
   */
  async write(change: (body: BatchBody) => BatchBody, options: WriteOptions): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#commit(change(this.body), options);
      } catch (thrown) {
        if (!MAY_BE_DONE.includes(asAppError(thrown).code) || attempt === ATTEMPTS_MAX) throw thrown;
        const hasMoved = await this.#readAgain();
        if (options.isDone(this.body)) return;
        if (!hasMoved || this.#record.claim !== this.work.claim) throw thrown;
      }
    }
  }

  async #commit(body: BatchBody, { more = [], isEnd = false }: WriteOptions): Promise<void> {
    const { id, revision: expectedRevision } = this.#record;
    const put = { type: "put", kind: "batch", id, body, expectedRevision, claim: this.work.claim, keepWork: !isEnd } as const;
    const [written] = await this.#records.commit(ownerOf(this.#record), [put, ...more]);
    if (written) this.see(written as RecordOf<BatchBody>);
  }

  /** Whether somebody wrote to it since it was read. */
  async #readAgain(): Promise<boolean> {
    const { id, revision } = this.#record;
    const fresh = await this.#records.get<BatchBody>(this.teamId, "batch", id);
    if (fresh) this.see(fresh);
    return this.#record.revision > revision;
  }
}
