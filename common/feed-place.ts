/*
 * The feed is numbered per scope of the store. The rows of one scope are a lane; a revision is the number of the lane and the number of the
 * row in it, in one integer. Lane 0 has the rows from before there were lanes.
 */
const LANE_SIZE = 2 ** 40;

export function revisionOf(lane: number, number: number): number {
  return lane * LANE_SIZE + number;
}

export function laneOf(revision: number): number {
  return Math.floor(revision / LANE_SIZE);
}

const numberOf = (revision: number): number => revision % LANE_SIZE;

/** A place in the feed: how far each lane is known. */
export class FeedPlace {
  readonly #revisions = new Map<number, number>();
  #total = 0;

  constructor(revisions: Iterable<number> = []) {
    for (const revision of revisions) this.advance(revision);
  }

  /** The newest known revision of a lane; without one, the revision before the lane's first row. */
  at(lane: number): number {
    return this.#revisions.get(lane) ?? revisionOf(lane, 0);
  }

  has(lane: number): boolean {
    return this.#revisions.has(lane);
  }

  /** Whether the row of a revision is known. */
  covers(revision: number): boolean {
    return this.at(laneOf(revision)) >= revision;
  }

  /** A revision that is known already changes nothing. */
  advance(revision: number): void {
    const lane = laneOf(revision);
    const before = this.at(lane);
    if (revision < before) return;
    this.#revisions.set(lane, revision);
    this.#total += numberOf(revision) - numberOf(before);
  }

  /** The newest revision of each lane. */
  get revisions(): number[] {
    return [...this.#revisions.values()];
  }

  /** How many rows of all lanes are known. */
  get total(): number {
    return this.#total;
  }
}
