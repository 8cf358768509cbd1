import { createHash } from "node:crypto";
import type { Clock } from "../../../../common/clock.ts";

/** A text as an organization's embedding model reads it. */
export interface EmbeddedText {
  readonly organizationId: string;
  readonly model: string;
  readonly text: string;
}

interface Entry {
  readonly vector: Float32Array;
  readonly untilMs: number;
}

/** Longer than clients and batches wait between two attempts. */
const LIFE_MS = 10 * 60_000;
const BYTES_MAX = 8 * 1024 * 1024;
/** The size of an entry beside its vector. */
const ENTRY_BYTES = 200;

/** Vectors of texts whose calls were made lately, by a hash of the text: a call that is made again after a failure pays for no second one. */
export class RecentVectors {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #bytesMax: number;
  /** In the order of their addition, which is that of their end. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(clock: Pick<Clock, "monotonicMs">, bytesMax = BYTES_MAX) {
    this.#clock = clock;
    this.#bytesMax = bytesMax;
  }

  get(of: EmbeddedText): Float32Array | undefined {
    const entry = this.#entries.get(nameOf(of));
    return entry && entry.untilMs > this.#clock.monotonicMs() ? entry.vector : undefined;
  }

  set(of: EmbeddedText, vector: Float32Array): void {
    const nowMs = this.#clock.monotonicMs();
    const name = nameOf(of);
    this.#delete(name);
    this.#entries.set(name, { vector, untilMs: nowMs + LIFE_MS });
    this.#bytes += sizeOf(vector);
    for (const [oldest, { untilMs }] of this.#entries) {
      if (this.#bytes <= this.#bytesMax && untilMs > nowMs) break;
      this.#delete(oldest);
    }
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  #delete(name: string): void {
    const entry = this.#entries.get(name);
    if (entry) this.#bytes -= sizeOf(entry.vector);
    this.#entries.delete(name);
  }
}

const sizeOf = (vector: Float32Array) => vector.byteLength + ENTRY_BYTES;

function nameOf({ organizationId, model, text }: EmbeddedText): string {
  return createHash("sha256")
    .update(JSON.stringify([organizationId, model, text]))
    .digest("base64");
}
