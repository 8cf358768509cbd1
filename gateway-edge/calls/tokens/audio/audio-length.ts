import type { AudioReader } from "./audio-kind.ts";
import { KINDS } from "./audio-kinds.ts";
import { leastMilliseconds, mostMilliseconds, usualMilliseconds } from "./usual-durations.ts";

/** As many bytes as tell what a file is. */
const SIGNATURE_BYTES = 12;

/**
 * How long the audio of a file is, for providers that do not report it. The file tells it itself, by its bytes and not by its name, which is the
 * client's word: WAV, FLAC, Ogg, MP4 and MP3 have their length in them. It may be forged, so it is at least what the size takes at the highest bit rate.
 * Of others, the size is divided by the usual bit rate of their kind.
 */
export class AudioLength {
  #size = 0;
  #begun: Buffer | undefined = Buffer.alloc(0);
  #kind = "";
  #reader: AudioReader | undefined;

  /** Takes the next bytes of the file. */
  add(bytes: Buffer): void {
    this.#size += bytes.length;
    if (!this.#begun) {
      this.#reader?.add(bytes);
      return;
    }
    const begun = Buffer.concat([this.#begun, bytes]);
    this.#begun = begun;
    if (begun.length < SIGNATURE_BYTES) return;
    this.#begun = undefined;
    const found = KINDS.find(({ isOf }) => isOf(begun));
    this.#kind = found?.kind ?? "";
    this.#reader = found?.open?.();
    this.#reader?.add(begun);
  }

  /** Of the bytes so far; at most what is reserved for so many. */
  milliseconds(): number {
    const read = this.#reader?.milliseconds(this.#size);
    const isKnown = read !== undefined && Number.isFinite(read) && read > 0;
    const found = isKnown ? Math.ceil(read) : usualMilliseconds(this.#size, this.#kind);
    return Math.min(Math.max(found, leastMilliseconds(this.#size, this.#kind)), mostMilliseconds(this.#size));
  }
}
