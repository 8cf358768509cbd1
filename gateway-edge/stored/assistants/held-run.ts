import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { Owner, RecordOf, RecordStore, RecordWrite } from "../records/records.ts";
import type { RunBody, ThreadBody } from "./bodies.ts";

/** How a run's record stands after a write: still worked on, waiting for its caller until it expires, or done for good. */
type Afterwards = "hold" | "wait" | "end";

export interface RunWrite {
  readonly afterwards: Afterwards;
  /** Messages and steps that belong to the change: all of it is written, or nothing. */
  readonly more?: readonly RecordWrite[] | undefined;
  /** A change that also a run that is being cancelled may take. */
  readonly evenCancelling?: boolean;
}

const BACK_OFF_MS = 100;
const BACK_OFF_MS_MAX = 2000;

/** A run that this edge holds. It writes only while it does: one that lost its claim changes nothing any more. */
export class HeldRun {
  readonly #records: RecordStore;
  readonly #clock: Clock;
  readonly #claim: string;
  readonly signal: AbortSignal;
  #record: RecordOf<RunBody>;

  constructor(deps: { records: RecordStore; clock: Clock }, held: { record: RecordOf<RunBody>; claim: string; signal: AbortSignal }) {
    this.#records = deps.records;
    this.#clock = deps.clock;
    this.#claim = held.claim;
    this.#record = held.record;
    this.signal = held.signal;
  }

  get body(): RunBody {
    return this.#record.body;
  }

  get owner(): Owner {
    const { teamId, organizationId, keyId } = this.#record;
    return { teamId, organizationId, keyId };
  }

  /**
   * Changes the run and what belongs to it in one commit. A change by somebody else meanwhile (its metadata, a cancellation) is taken
   * in first, so `change` may be asked more than once; undefined: there is nothing to change any more. Waits for a control plane that
   * is away for as long as the run is held.
   */
  async write(change: (body: RunBody) => RunBody | undefined, options: RunWrite): Promise<"written" | "cancelling" | "lost"> {
    for (let delayMs = BACK_OFF_MS; !this.signal.aborted; ) {
      if (this.body.run.status === "cancelling" && !options.evenCancelling) return "cancelling";
      const body = change(this.body);
      if (!body) return "lost";
      try {
        this.#record = await this.#commit(body, options);
        return "written";
      } catch (thrown) {
        const outcome = await this.#afterFailure(thrown, body);
        if (outcome !== "again") return outcome;
        if (isRefused(thrown)) continue;
        await this.#clock.sleep(delayMs, this.signal).catch(() => {});
        delayMs = Math.min(delayMs * 2, BACK_OFF_MS_MAX);
      }
    }
    return "lost";
  }

  async #commit(body: RunBody, { afterwards, more = [] }: RunWrite): Promise<RecordOf<RunBody>> {
    const { id, revision } = this.#record;
    const own = { type: "put", kind: "run", id, body, expectedRevision: revision, claim: this.#claim } as const;
    const put: RecordWrite = afterwards === "hold" ? { ...own, keepWork: true } : own;
    const thread = afterwards === "end" ? await this.#unlocking() : [];
    const writes = [put, ...(afterwards === "wait" ? [this.#wakeAtExpiry(body)] : []), ...more, ...thread];
    const written = await this.#records.commit(this.owner, writes);
    return written[afterwards === "wait" ? 1 : 0] as RecordOf<RunBody>;
  }

  /** The claim was given up right before it: nobody holds the run now, but when it expires somebody must look at it. */
  #wakeAtExpiry(body: RunBody): RecordWrite {
    const { id, revision } = this.#record;
    const dueAtMs = (body.run.expires_at ?? 0) * 1000;
    return { type: "put", kind: "run", id, body, dueAtMs, expectedRevision: revision + 1n };
  }

  /** The thread is free again in the same commit that ends the run. */
  async #unlocking(): Promise<RecordWrite[]> {
    const { thread_id: threadId, id } = this.body.run;
    const thread = await this.#records.get<ThreadBody>(this.owner.teamId, "thread", threadId);
    if (thread?.body.activeRunId !== id) return [];
    const body: ThreadBody = { ...thread.body, activeRunId: null };
    return [{ type: "put", kind: "thread", id: threadId, body, expectedRevision: thread.revision }];
  }

  async #afterFailure(thrown: unknown, body: RunBody): Promise<"again" | "written" | "lost"> {
    if (!isRefused(thrown)) {
      const isPassing = thrown instanceof AppError && PASSING.has(thrown.code);
      if (isPassing) return "again";
      throw thrown;
    }
    const fresh = await this.#read();
    if (!fresh) return "lost";
    // The answer to an earlier try of this very write may have been lost on its way.
    const isWritten = fresh.revision !== this.#record.revision && JSON.stringify(fresh.body) === JSON.stringify(body);
    const isChanged = fresh.revision !== this.#record.revision;
    const isOurs = fresh.claim === this.#claim;
    this.#record = fresh;
    if (isWritten) return "written";
    if (!isOurs) return "lost";
    // Not the run but its thread was changed: to be read again with the next try.
    if (!isChanged && (thrown as AppError).code === "NOT_FOUND") return "lost";
    return "again";
  }

  /** As it is now: somebody may have cancelled it. */
  async refresh(): Promise<void> {
    const fresh = await this.#read();
    if (fresh) this.#record = fresh;
  }

  async #read(): Promise<RecordOf<RunBody> | undefined> {
    for (let delayMs = BACK_OFF_MS; !this.signal.aborted; delayMs = Math.min(delayMs * 2, BACK_OFF_MS_MAX)) {
      try {
        return await this.#records.get<RunBody>(this.owner.teamId, "run", this.#record.id);
      } catch (thrown) {
        if (!(thrown instanceof AppError) || !PASSING.has(thrown.code)) throw thrown;
        await this.#clock.sleep(delayMs, this.signal).catch(() => {});
      }
    }
    return undefined;
  }
}

/** A control plane that is away or overloaded; it comes back. */
const PASSING: ReadonlySet<string> = new Set(["UNAVAILABLE", "DB_TIMEOUT"]);

function isRefused(thrown: unknown): boolean {
  return thrown instanceof AppError && (thrown.code === "RECORD_CHANGED" || thrown.code === "NOT_FOUND");
}
