import type { AudioKind, AudioReader } from "./audio-kind.ts";
import { ByteHops, type Hop } from "./byte-hops.ts";

const PAGE_HEAD_BYTES = 27;
const BEGINS_STREAM = 2;
/** The first page has the codec's own head: "OpusHead", or "\x01vorbis" with its rate after the version and the channels. */
const CODEC_HEAD_BYTES = 16;
/** Opus counts in this rate, whatever it was recorded in. */
const OPUS_RATE = 48_000;
const NO_PLACE = 0xffffffffffffffffn;

/** Opus and Vorbis: the place of the last page over the rate, of all streams that follow each other. */
export const ogg: AudioKind = {
  kind: "ogg",
  isOf: (begin) => begin.toString("latin1", 0, 4) === "OggS",
  open: () => new OggReader(),
};

class OggReader implements AudioReader {
  #rate = 0;
  /** Of the stream that is read, in samples. */
  #place = 0;
  #endedMs = 0;
  readonly #hops = new ByteHops(this.#pageAfter(0));

  add(bytes: Buffer): void {
    this.#hops.add(bytes);
  }

  milliseconds(): number | undefined {
    const total = this.#endedMs + (this.#rate > 0 ? (this.#place * 1000) / this.#rate : 0);
    return total > 0 ? total : undefined;
  }

  #pageAfter(skip: number): Hop {
    return { skip, need: PAGE_HEAD_BYTES, read: (head) => this.#readPage(head) };
  }

  #readPage(head: Buffer): Hop | undefined {
    if (head.toString("latin1", 0, 4) !== "OggS") return undefined;
    const [flags, place, segments] = [head[5] ?? 0, head.readBigUInt64LE(6), head[26] ?? 0];
    const begins = (flags & BEGINS_STREAM) !== 0;
    if (!begins && place !== NO_PLACE) this.#place = Number(place);
    const read = (sizes: Buffer): Hop => {
      const length = sizes.reduce((sum, size) => sum + size, 0);
      return begins && length >= CODEC_HEAD_BYTES ? this.#codec(length) : this.#pageAfter(length);
    };
    return segments === 0 ? this.#pageAfter(0) : { skip: 0, need: segments, read };
  }

  #codec(length: number): Hop {
    const read = (head: Buffer): Hop => {
      this.#endedMs = this.milliseconds() ?? 0;
      this.#place = 0;
      this.#rate = rateOf(head);
      return this.#pageAfter(length - CODEC_HEAD_BYTES);
    };
    return { skip: 0, need: CODEC_HEAD_BYTES, read };
  }
}

function rateOf(head: Buffer): number {
  if (head.toString("latin1", 0, 8) === "OpusHead") return OPUS_RATE;
  return head.toString("latin1", 0, 7) === "\x01vorbis" ? head.readUInt32LE(12) : 0;
}
