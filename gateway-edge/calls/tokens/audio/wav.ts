import type { AudioKind, AudioReader } from "./audio-kind.ts";
import { ByteHops, type Hop } from "./byte-hops.ts";

const RIFF_BYTES = 12;
const CHUNK_HEAD_BYTES = 8;
const FORMAT_BYTES = 16;

/** RIFF: the size of the samples over their bytes per second. */
export const wav: AudioKind = {
  kind: "wav",
  isOf: (begin) => begin.toString("latin1", 0, 4) === "RIFF" && begin.toString("latin1", 8, 12) === "WAVE",
  open: () => new WavReader(),
};

class WavReader implements AudioReader {
  #bytesPerSecond = 0;
  /** Where the chunk is that is read next. */
  #at = RIFF_BYTES;
  #samplesAt: number | undefined;
  #samplesBytes = Number.POSITIVE_INFINITY;
  readonly #hops = new ByteHops(this.#chunkAfter(RIFF_BYTES));

  add(bytes: Buffer): void {
    this.#hops.add(bytes);
  }

  milliseconds(size: number): number | undefined {
    if (this.#samplesAt === undefined || this.#bytesPerSecond === 0) return undefined;
    return (Math.min(size - this.#samplesAt, this.#samplesBytes) * 1000) / this.#bytesPerSecond;
  }

  #chunkAfter(skip: number): Hop {
    return { skip, need: CHUNK_HEAD_BYTES, read: (head) => this.#readChunk(head) };
  }

  #readChunk(head: Buffer): Hop | undefined {
    const [name, length] = [head.toString("latin1", 0, 4), head.readUInt32LE(4)];
    if (name === "data") {
      this.#samplesAt = this.#at + CHUNK_HEAD_BYTES;
      // A recorder that did not know the length wrote zero or the largest number.
      if (length > 0 && length < 0xffffffff) this.#samplesBytes = length;
      return undefined;
    }
    // Chunks begin at even places.
    const padded = length + (length % 2);
    this.#at += CHUNK_HEAD_BYTES + padded;
    if (name !== "fmt " || length < FORMAT_BYTES) return this.#chunkAfter(padded);
    const read = (format: Buffer) => {
      this.#bytesPerSecond = bytesPerSecond(format);
      return this.#chunkAfter(padded - FORMAT_BYTES);
    };
    return { skip: 0, need: FORMAT_BYTES, read };
  }
}

/** Integers, floats, and both with a longer head. */
const PLAIN_SAMPLES = [1, 3, 0xfffe];

/** More than any coding takes that stores speech with a loss. */
const CODED_BYTES_PER_SECOND_MAX = 64_000;

/** Codings whose samples have no fixed size, such as GSM, say their bytes per second. */
function bytesPerSecond(format: Buffer): number {
  const [coding, channels, rate, bits] = [format.readUInt16LE(0), format.readUInt16LE(2), format.readUInt32LE(4), format.readUInt16LE(14)];
  return PLAIN_SAMPLES.includes(coding) && bits > 0
    ? (rate * channels * bits) / 8
    : Math.min(format.readUInt32LE(8), CODED_BYTES_PER_SECOND_MAX);
}
