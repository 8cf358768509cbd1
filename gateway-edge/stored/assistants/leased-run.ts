import { type Clock, pause } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { Owner, RecordOf, RecordStore, RecordWrite } from "../records/records.ts";
import type { RunBody, ThreadBody } from "./bodies.ts";

/** What happens to a run after a write: this edge continues it, it waits for its caller until it expires, or it has ended. */
type Afterwards = "continue" | "wait" | "end";

/** How a change of a run is written. */
export interface RunWrite {
  readonly afterwards: Afterwards;
  /** Messages and steps that are written in the same commit. */
  readonly more?: readonly RecordWrite[] | undefined;
  /** Also writes if the run is being canceled. */
  readonly evenCancelling?: boolean;
}

const BACK_OFF_MS = 100;
const BACK_OFF_MS_MAX = 2000;

/** A run that this edge holds by a claim. After the claim is lost, nothing is written. */
export class LeasedRun {
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
   * Changes the run and its messages and steps in one commit. If another writer changed the run meanwhile (metadata, a cancellation),
   * `change` is called again with the new body; it returns undefined if there is nothing to change any more. While the control plane is
   * unavailable the write is retried for as long as the lease lasts.
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
        await pause(this.#clock, delayMs, this.signal);
        delayMs = Math.min(delayMs * 2, BACK_OFF_MS_MAX);
      }
    }
    return "lost";
  }

  async #commit(body: RunBody, { afterwards, more = [] }: RunWrite): Promise<RecordOf<RunBody>> {
    const { id, revision } = this.#record;
    const own = { type: "put", kind: "run", id, body, expectedRevision: revision, claim: this.#claim } as const;
    const put: RecordWrite = afterwards === "continue" ? { ...own, keepWork: true } : own;
    const thread = afterwards === "end" ? await this.#unlocking() : [];
    const writes = [put, ...(afterwards === "wait" ? [this.#wakeAtExpiry(body)] : []), ...more, ...thread];
    const written = await this.#records.commit(this.owner, writes);
    return written[afterwards === "wait" ? 1 : 0] as RecordOf<RunBody>;
  }

  /** A second write after the one that gives up the claim: the run is unclaimed, and becomes due again when it expires. */
  #wakeAtExpiry(body: RunBody): RecordWrite {
    const { id, revision } = this.#record;
    const dueAtMs = (body.run.expires_at ?? 0) * 1000;
    return { type: "put", kind: "run", id, body, dueAtMs, expectedRevision: revision + 1n };
  }

  /** Clears the thread's active run in the same commit that ends the run. */
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
    // The response to an earlier attempt of this write may have been lost.
    const isWritten = fresh.revision !== this.#record.revision && JSON.stringify(fresh.body) === JSON.stringify(body);
    const isChanged = fresh.revision !== this.#record.revision;
    const isOurs = fresh.claim === this.#claim;
    this.#record = fresh;
    if (isWritten) return "written";
    if (!isOurs) return "lost";
    // Not the run but its thread was changed: the next attempt reads it again.
    if (!isChanged && (thrown as AppError).code === "NOT_FOUND") return "lost";
    return "again";
  }

  /** Reads the run again: it may have been canceled. */
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
        await pause(this.#clock, delayMs, this.signal);
      }
    }
    return undefined;
  }
}

/** Codes of a control plane that is unavailable or overloaded: worth a retry. */
const PASSING: ReadonlySet<string> = new Set(["UNAVAILABLE", "DB_TIMEOUT"]);

function isRefused(thrown: unknown): boolean {
  return thrown instanceof AppError && (thrown.code === "RECORD_CHANGED" || thrown.code === "NOT_FOUND");
}
