import { type Linked, LinkedList } from "./linked-list.ts";

/** Handle of one entry, for `delete`. */
export interface Deadline {
  /** Cleared on removal, so that a handle does not keep a removed entry alive. */
  entry: unknown;
}

interface Link<Entry> extends Deadline, Linked<Link<Entry>> {
  entry: Entry | undefined;
  readonly startedMs: number;
}

/**
 * Ends entries after a time limit. All entries have the same limit, so the oldest is always the next one due, and one timer serves all of
 * them: a timer per call would cost every call, although hardly any timer ever fires.
 */
export class Deadlines<Entry> {
  readonly #milliseconds: number;
  readonly #end: (entry: Entry) => void;
  readonly #links = new LinkedList<Link<Entry>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(milliseconds: number, end: (entry: Entry) => void) {
    this.#milliseconds = milliseconds;
    this.#end = end;
  }

  add(entry: Entry): Deadline {
    const link: Link<Entry> = { entry, startedMs: performance.now(), before: undefined, after: undefined };
    this.#links.add(link);
    if (!this.#timer) this.#arm(this.#milliseconds);
    else if (!link.before) this.#timer.ref();
    return link;
  }

  /** Does nothing if the entry has already ended or been deleted. */
  delete(deadline: Deadline): void {
    const link = deadline as Link<Entry>;
    if (link.entry === undefined) return;
    this.#remove(link);
    // The timer keeps running for later entries, but it does not keep the process alive.
    if (!this.#links.oldest) this.#timer?.unref();
  }

  /** The entries that have neither ended nor been deleted, the oldest first. */
  *entries(): Generator<Entry> {
    for (const { entry } of this.#links) if (entry !== undefined) yield entry;
  }

  #remove(link: Link<Entry>): void {
    this.#links.remove(link);
    link.entry = undefined;
  }

  #arm(milliseconds: number): void {
    this.#timer = setTimeout(() => this.#endDue(), milliseconds);
  }

  #endDue(): void {
    const nowMs = performance.now();
    // Entries added meanwhile are at the end of the list and are reached by this loop.
    for (let link = this.#links.oldest; link; link = this.#links.oldest) {
      const leftMs = link.startedMs + this.#milliseconds - nowMs;
      if (leftMs > 0) {
        this.#arm(leftMs);
        return;
      }
      const { entry } = link;
      this.#remove(link);
      this.#end(entry as Entry);
    }
    this.#timer = undefined;
  }
}
