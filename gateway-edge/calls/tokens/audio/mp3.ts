import type { AudioKind, AudioReader } from "./audio-kind.ts";
import { ByteHops, type Hop } from "./byte-hops.ts";
import { usualMilliseconds } from "./usual-durations.ts";

const FRAME_HEAD_BYTES = 4;
/** Bytes between frames that are looked through for the next one; what follows more of them is judged by its size. */
const JUNK_BYTES_MAX = 16 * 1024;

// Kilobits per second by index: MPEG 1 and 2, layers I, II and III.
const RATES_OF_1 = [
  [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
] as const;
const RATES_OF_2 = [
  [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const;
const SAMPLE_RATES = [44_100, 48_000, 32_000] as const;

const TAG_REST_BYTES = 6;

/** MPEG audio: the sum of its frames, because their bit rate may change. */
export const mp3: AudioKind = {
  kind: "mp3",
  isOf: (begin) => begin.toString("latin1", 0, 3) === "ID3" || frameOf(begin) !== undefined,
  open: () => new Mp3Reader(),
};

class Mp3Reader implements AudioReader {
  #milliseconds = 0;
  #framesBytes = 0;
  #junkBytes = 0;
  #tagBytes = 0;
  /** Whether nothing but tags was read. */
  #isFirst = true;
  readonly #hops = new ByteHops(this.#frameAfter(0));

  add(bytes: Buffer): void {
    this.#hops.add(bytes);
  }

  milliseconds(size: number): number | undefined {
    if (this.#framesBytes === 0) return undefined;
    const isLost = this.#junkBytes > JUNK_BYTES_MAX;
    return this.#milliseconds + (isLost ? usualMilliseconds(size - this.#tagBytes - this.#framesBytes, "mp3") : 0);
  }

  #frameAfter(skip: number): Hop {
    return { skip, need: FRAME_HEAD_BYTES, read: (head) => this.#readFrame(head) };
  }

  #readFrame(head: Buffer): Hop | undefined {
    const frame = frameOf(head);
    if (frame) {
      this.#isFirst = false;
      this.#milliseconds += frame.milliseconds;
      this.#framesBytes += frame.bytes;
      return this.#frameAfter(frame.bytes - FRAME_HEAD_BYTES);
    }
    // Only at the beginning: elsewhere a tag could cover the sound, of which decoders know better.
    if (this.#isFirst && head.toString("latin1", 0, 3) === "ID3")
      return { skip: 0, need: TAG_REST_BYTES, read: (rest) => this.#passTag(rest) };
    this.#isFirst = false;
    if (++this.#junkBytes > JUNK_BYTES_MAX) return undefined;
    // The next frame may begin at any byte.
    const kept = Buffer.from(head.subarray(1));
    return { skip: 0, need: 1, read: (next) => this.#readFrame(Buffer.concat([kept, next])) };
  }

  /** Its size is in four bytes of seven bits. */
  #passTag(rest: Buffer): Hop {
    const size = rest.subarray(2).reduce((sum, byte) => sum * 128 + (byte & 127), 0);
    this.#tagBytes += FRAME_HEAD_BYTES + TAG_REST_BYTES + size;
    return this.#frameAfter(size);
  }
}

interface Frame {
  readonly bytes: number;
  readonly milliseconds: number;
}

/** Undefined: no frame begins with these bytes. */
function frameOf(head: Buffer): Frame | undefined {
  const word = head.readUInt32BE(0);
  const [version, layer] = [(word >>> 19) & 3, 4 - ((word >>> 17) & 3)];
  if (word >>> 21 !== 0x7ff || version === 1 || layer === 4) return undefined;
  const isFirst = version === 3;
  const rates = isFirst ? RATES_OF_1[layer - 1] : RATES_OF_2[layer === 1 ? 0 : 1];
  const kilobits = rates?.[((word >>> 12) & 15) - 1];
  const full = SAMPLE_RATES[(word >>> 10) & 3];
  if (kilobits === undefined || full === undefined) return undefined;
  // MPEG 2 has half of the rates, MPEG 2.5 a quarter.
  const rate = isFirst ? full : full / (version === 2 ? 2 : 4);
  const samples = samplesOf(layer, isFirst);
  const [slot, padding] = [layer === 1 ? 4 : 1, (word >>> 9) & 1];
  const bytes = (Math.floor(((samples / 8) * kilobits * 1000) / rate / slot) + padding) * slot;
  return { bytes, milliseconds: (samples * 1000) / rate };
}

function samplesOf(layer: number, isFirst: boolean): number {
  if (layer === 1) return 384;
  return layer === 3 && !isFirst ? 576 : 1152;
}
