import { asAppError, type ErrorCode } from "../../../common/errors.ts";
import { ownerOf } from "../records/own-record.ts";
import type { RecordOf, RecordStore, RecordWrite } from "../records/records.ts";
import type { WorkLease } from "../records/work.ts";
import type { BatchBody } from "./batch-body.ts";

const ATTEMPTS_MAX = 10;
/** Codes that a write can get although an earlier attempt of it succeeded and only its response was lost. */
const MAY_BE_DONE: readonly ErrorCode[] = ["RECORD_CHANGED", "ALREADY_EXISTS", "DB_TIMEOUT", "UNAVAILABLE"];

/** How a change of a batch is written. */
export interface WriteOptions {
  readonly isDone: (body: BatchBody) => boolean;
  readonly more?: readonly RecordWrite[];
  /** The batch needs no more work after this write. */
  readonly isEnd?: boolean;
}

/** A batch that this edge holds by a claim. Only this edge writes it, except for a cancellation. */
export class LeasedBatch {
  readonly work: WorkLease;
  readonly #records: RecordStore;
  #record: RecordOf<BatchBody>;

  constructor(records: RecordStore, record: RecordOf<BatchBody>, work: WorkLease) {
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

  /** Takes a newer revision of the record; the next change starts from it. */
  update(record: RecordOf<BatchBody>): void {
    if (record.revision > this.#record.revision) this.#record = record;
  }

  /**
   * Writes the result of `change`, with `more` in the same commit. Nothing is written after the claim is lost. If a response is lost the
   * batch is read again, and `isDone` says whether the change is stored already.
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
    if (written) this.update(written as RecordOf<BatchBody>);
  }

  /** Reads the batch again; resolves to whether it has changed. */
  async #readAgain(): Promise<boolean> {
    const { id, revision } = this.#record;
    const fresh = await this.#records.get<BatchBody>(this.teamId, "batch", id);
    if (fresh) this.update(fresh);
    return this.#record.revision > revision;
  }
}
