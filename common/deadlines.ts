/** One entry's place among its deadlines; what `delete` takes. */
export interface Deadline {
  /** Nothing keeps an entry alive that was taken out, whatever still knows its place. */
  entry: unknown;
}

interface Place<Entry> extends Deadline {
  entry: Entry | undefined;
  readonly startedMs: number;
  before: Place<Entry> | undefined;
  after: Place<Entry> | undefined;
}

/**
 * Ends what lasts for too long. All that is added has the same time, so the oldest is always the next that is due, and one timer serves
 * them all: one of its own for each call would cost every call, and nearly none ever comes to it.
 *
 * A list of its own and not a `Map`: a `Map` that is added to and deleted from all the time makes itself a new table again and again,
 * each old table points to the next and keeps what stood in it, and once one of them is old to the garbage collector, all that follow
 * count as alive. A fifth of what calls allocate was copied at each collection because of it.
 */
export class Deadlines<Entry> {
  readonly #milliseconds: number;
  readonly #end: (entry: Entry) => void;
  #oldest: Place<Entry> | undefined;
  #newest: Place<Entry> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(milliseconds: number, end: (entry: Entry) => void) {
    this.#milliseconds = milliseconds;
    this.#end = end;
  }

  add(entry: Entry): Deadline {
    const before = this.#newest;
    const place: Place<Entry> = { entry, startedMs: performance.now(), before, after: undefined };
    this.#newest = place;
    if (before) before.after = place;
    else this.#oldest = place;
    if (!this.#timer) this.#arm(this.#milliseconds);
    else if (!before) this.#timer.ref();
    return place;
  }

  /** Once it ended or was deleted, nothing happens. */
  delete(deadline: Deadline): void {
    const place = deadline as Place<Entry>;
    if (place.entry === undefined) return;
    this.#takeOut(place);
    // The timer goes on, for whoever comes next, but no process stays for it.
    if (!this.#oldest) this.#timer?.unref();
  }

  #takeOut(place: Place<Entry>): void {
    const { before, after } = place;
    if (before) before.after = after;
    else this.#oldest = after;
    if (after) after.before = before;
    else this.#newest = before;
    place.entry = undefined;
    place.before = undefined;
    place.after = undefined;
  }

  #arm(milliseconds: number): void {
    this.#timer = setTimeout(() => this.#look(), milliseconds);
  }

  #look(): void {
    const nowMs = performance.now();
    // Whoever is added meanwhile stands behind the others, and is come to.
    for (let place = this.#oldest; place; place = this.#oldest) {
      const leftMs = place.startedMs + this.#milliseconds - nowMs;
      if (leftMs > 0) {
        this.#arm(leftMs);
        return;
      }
      const { entry } = place;
      this.#takeOut(place);
      this.#end(entry as Entry);
    }
    this.#timer = undefined;
  }
}
