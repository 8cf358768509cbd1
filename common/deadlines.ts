/** Handle of one entry, for `delete`. */
export interface Deadline {
  /** Cleared on removal, so that a handle does not keep a removed entry alive. */
  entry: unknown;
}

interface Link<Entry> extends Deadline {
  entry: Entry | undefined;
  readonly startedMs: number;
  before: Link<Entry> | undefined;
  after: Link<Entry> | undefined;
}

/**
 * Ends entries after a time limit. All entries have the same limit, so the oldest is always the next one due, and one timer serves all of
 * them: a timer per call would cost every call, although hardly any timer ever fires.
 *
 * This is a linked list instead of a `Map`: a `Map` with constant insertions and deletions allocates new tables again and again, each old
 * table references the next and its former content, and once one of them is in the old generation, the garbage collector treats all that
 * follow as live. Because of it, a fifth of what calls allocate was copied at each collection.
 */
export class Deadlines<Entry> {
  readonly #milliseconds: number;
  readonly #end: (entry: Entry) => void;
  #oldest: Link<Entry> | undefined;
  #newest: Link<Entry> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(milliseconds: number, end: (entry: Entry) => void) {
    this.#milliseconds = milliseconds;
    this.#end = end;
  }

  add(entry: Entry): Deadline {
    const before = this.#newest;
    const link: Link<Entry> = { entry, startedMs: performance.now(), before, after: undefined };
    this.#newest = link;
    if (before) before.after = link;
    else this.#oldest = link;
    if (!this.#timer) this.#arm(this.#milliseconds);
    else if (!before) this.#timer.ref();
    return link;
  }

  /** Does nothing if the entry has already ended or been deleted. */
  delete(deadline: Deadline): void {
    const link = deadline as Link<Entry>;
    if (link.entry === undefined) return;
    this.#remove(link);
    // The timer keeps running for later entries, but it does not keep the process alive.
    if (!this.#oldest) this.#timer?.unref();
  }

  /** The entries that have neither ended nor been deleted, the oldest first. */
  *entries(): Generator<Entry> {
    for (let link = this.#oldest; link; link = link.after) if (link.entry !== undefined) yield link.entry;
  }

  #remove(link: Link<Entry>): void {
    const { before, after } = link;
    if (before) before.after = after;
    else this.#oldest = after;
    if (after) after.before = before;
    else this.#newest = before;
    link.entry = undefined;
    link.before = undefined;
    link.after = undefined;
  }

  #arm(milliseconds: number): void {
    this.#timer = setTimeout(() => this.#endDue(), milliseconds);
  }

  #endDue(): void {
    const nowMs = performance.now();
    // Entries added meanwhile are at the end of the list and are reached by this loop.
    for (let link = this.#oldest; link; link = this.#oldest) {
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
