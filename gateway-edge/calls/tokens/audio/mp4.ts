import type { AudioKind, AudioReader } from "./audio-kind.ts";
import { ByteHops, type Hop } from "./byte-hops.ts";

const BOX_HEAD_BYTES = 8;
/** Version and flags, times, time scale and duration, in the longer one of the two versions. */
const MOVIE_HEAD_BYTES = 32;

/** MP4 and M4A: the duration in the head of the movie, which may come after the sound. */
export const mp4: AudioKind = {
  kind: "mp4",
  isOf: (begin) => begin.toString("latin1", 4, 8) === "ftyp",
  open: () => new Mp4Reader(),
};

class Mp4Reader implements AudioReader {
  #milliseconds: number | undefined;
  readonly #hops = new ByteHops(this.#boxAfter(0));

  add(bytes: Buffer): void {
    this.#hops.add(bytes);
  }

  milliseconds(): number | undefined {
    return this.#milliseconds;
  }

  #boxAfter(skip: number): Hop {
    return { skip, need: BOX_HEAD_BYTES, read: (head) => this.#readBox(head) };
  }

  #readBox(head: Buffer): Hop | undefined {
    const [length, name] = [head.readUInt32BE(0), head.toString("latin1", 4, 8)];
    // Its boxes are read one after the other, as those beside it.
    if (name === "moov") return this.#boxAfter(length === 1 ? BOX_HEAD_BYTES : 0);
    if (name === "mvhd") return { skip: 0, need: MOVIE_HEAD_BYTES, read: (bytes) => this.#readMovie(bytes) };
    // A long box: its length follows.
    if (length === 1) return { skip: 0, need: 8, read: (bytes) => this.#passed(Number(bytes.readBigUInt64BE()) - 8) };
    return this.#passed(length);
  }

  /** Zero: it goes to the end of the file. */
  #passed(length: number): Hop | undefined {
    return length >= BOX_HEAD_BYTES && Number.isSafeInteger(length) ? this.#boxAfter(length - BOX_HEAD_BYTES) : undefined;
  }

  #readMovie(bytes: Buffer): undefined {
    const isLong = bytes[0] === 1;
    const [scale, duration] = isLong
      ? [bytes.readUInt32BE(20), Number(bytes.readBigUInt64BE(24))]
      : [bytes.readUInt32BE(12), bytes.readUInt32BE(16)];
    if (scale > 0) this.#milliseconds = (duration * 1000) / scale;
    return undefined;
  }
}
