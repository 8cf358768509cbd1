import type { Disk } from "../../../common/disk.ts";
import { isFinal, readFinal, type Settlement } from "./final-record.ts";
import { decodeHeader, readFrames } from "./frame.ts";
import type { Segment } from "./segment.ts";

/** Of a call that was made under no lease, or by an earlier process. */
const NO_LEASE = 0n;

/**
 * The finals that the ledger has not acknowledged. The newest are in memory, up to a limit; the others are read from the files again, so
 * that an outage of hours costs disk space and sixteen bytes of memory per call.
 */
export class Backlog {
  readonly #inMemoryMax: number;
  /** All of them, in order. */
  #sequences: number[];
  /** The leases of their calls, which the files do not have. */
  #generations: bigint[];
  #inMemory: Settlement[] = [];
  /** Every final from here on is in memory. */
  #inMemoryFrom: number;

  constructor({
    unacknowledged,
    nextSequence,
    inMemoryMax,
  }: { unacknowledged: readonly number[]; nextSequence: number; inMemoryMax: number }) {
    this.#sequences = [...unacknowledged];
    this.#generations = unacknowledged.map(() => NO_LEASE);
    this.#inMemoryFrom = nextSequence;
    this.#inMemoryMax = inMemoryMax;
  }

  get size(): number {
    return this.#sequences.length;
  }

  /** The oldest one. */
  get first(): number | undefined {
    return this.#sequences[0];
  }

  get inMemoryFrom(): number {
    return this.#inMemoryFrom;
  }

  add(settlement: Settlement, safeSequence: number): void {
    this.#sequences.push(settlement.sequence);
    this.#generations.push(settlement.leaseGeneration);
    this.#inMemory.push(settlement);
    if (this.#inMemory.length > this.#inMemoryMax) this.#forget(safeSequence);
  }

  acknowledge(sequence: number): void {
    const count = firstAfter(this.#sequences, sequence, (each) => each);
    this.#sequences.splice(0, count);
    this.#generations.splice(0, count);
    this.#inMemory.splice(
      0,
      firstAfter(this.#inMemory, sequence, (each) => each.sequence),
    );
  }

  /** The first one in memory after a sequence. */
  nextInMemory(after: number): Settlement | undefined {
    return this.#inMemory[firstAfter(this.#inMemory, after, (each) => each.sequence)];
  }

  /** The finals of one file after a sequence. */
  *inFile(disk: Disk, segment: Segment, after: number): Generator<Settlement> {
    const bytes = disk.read(segment.path);
    const decoded = decodeHeader(bytes);
    if (typeof decoded === "string") return;
    for (const frame of readFrames(bytes, decoded)) {
      if (isFinal(frame.type) && frame.sequence > after) yield readFinal(frame, this.#generationOf(frame.sequence));
    }
  }

  #generationOf(sequence: number): bigint {
    const at = firstAfter(this.#sequences, sequence - 1, (each) => each);
    return this.#sequences[at] === sequence ? (this.#generations[at] ?? NO_LEASE) : NO_LEASE;
  }

  /** Drops half of them at once, so that it runs seldom. Drops only finals that can be read from a file again. */
  #forget(safeSequence: number): void {
    const safe = firstAfter(this.#inMemory, safeSequence, (each) => each.sequence);
    this.#inMemory.splice(0, Math.min(safe, this.#inMemoryMax / 2));
    this.#inMemoryFrom = this.#inMemory[0]?.sequence ?? this.#inMemoryFrom;
  }
}

/** The index of the first element whose sequence is above; they are in order. */
function firstAfter<T>(elements: readonly T[], sequence: number, sequenceOf: (element: T) => number): number {
  let [low, high] = [0, elements.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sequenceOf(elements[middle] as T) > sequence) high = middle;
    else low = middle + 1;
  }
  return low;
}
