import type { AudioKind, AudioReader } from "./audio-kind.ts";
import { ByteHops } from "./byte-hops.ts";

/** "fLaC", and the head of the first block, which describes the stream. */
const BEFORE_BYTES = 8;
const STREAM_INFO_BYTES = 18;

/** The number of samples over their rate; at least what samples without any compression would last. */
export const flac: AudioKind = {
  kind: "flac",
  isOf: (begin) => begin.toString("latin1", 0, 4) === "fLaC",
  open: () => new FlacReader(),
};

class FlacReader implements AudioReader {
  #info: { readonly samples: number; readonly rate: number; readonly bitsPerSample: number } | undefined;
  readonly #hops = new ByteHops({
    skip: BEFORE_BYTES,
    need: STREAM_INFO_BYTES,
    read: (bytes) => {
      // After 10 bytes of block and frame sizes: 20 bits of rate, 3 of channels, 5 of bits per sample, 36 of samples.
      const packed = bytes.readBigUInt64BE(10);
      const [channels, bits] = [Number((packed >> 41n) & 7n) + 1, Number((packed >> 36n) & 31n) + 1];
      this.#info = { rate: Number(packed >> 44n), bitsPerSample: channels * bits, samples: Number(packed & 0xfffffffffn) };
      return undefined;
    },
  });

  add(bytes: Buffer): void {
    this.#hops.add(bytes);
  }

  milliseconds(size: number): number | undefined {
    // A stream that was written while it was recorded has zero samples.
    if (!this.#info || this.#info.samples === 0) return undefined;
    const { samples, rate, bitsPerSample } = this.#info;
    return (Math.max(samples, (size * 8) / bitsPerSample) * 1000) / rate;
  }
}
