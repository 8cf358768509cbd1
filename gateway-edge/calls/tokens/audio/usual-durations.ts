/** Speech is hardly ever stored at a lower bit rate: the longest duration of a file follows from its size. */
const LOWEST_BITS_PER_MS = 16;

/** Usual bits per millisecond by kind of file, for files that do not tell their length. */
const USUAL_BITS_PER_MS: Readonly<Record<string, number>> = { wav: 256, flac: 160, mp3: 128, mp4: 96, ogg: 48, webm: 48 };
const USUAL_OTHERWISE = 64;

/**
 * The highest bit rates that sound is stored at, by kind of file. A length in a file is the client's word, so it counts down to what the file's size
 * takes at this rate. MP4 may have pictures beside the sound.
 */
const MOST_BITS_PER_MS: Readonly<Record<string, number>> = { wav: 12_288, flac: 9216, mp3: 448, mp4: 10_000, ogg: 512, webm: 10_000 };

/** More tokens than anyone speaks in a second. */
const SPOKEN_TOKENS_PER_SECOND = 12;

export function leastMilliseconds(bytes: number, kind: string): number {
  return Math.ceil((bytes * 8) / (MOST_BITS_PER_MS[kind] ?? USUAL_OTHERWISE));
}

/** The least that speech of so many tokens lasts. */
export function spokenAtLeast(tokens: number): number {
  return Math.ceil((tokens * 1000) / SPOKEN_TOKENS_PER_SECOND);
}

export function mostMilliseconds(bytes: number): number {
  return Math.ceil((bytes * 8) / LOWEST_BITS_PER_MS);
}

export function usualMilliseconds(bytes: number, kind: string): number {
  return Math.ceil((bytes * 8) / (USUAL_BITS_PER_MS[kind] ?? USUAL_OTHERWISE));
}

/** Generated speech, by response_format. */
const SPOKEN_BITS_PER_MS: Readonly<Record<string, number>> = { mp3: 128, opus: 64, aac: 96, flac: 200, wav: 384, pcm: 384 };

export function spokenMilliseconds(bytes: number, format: string): number {
  return Math.ceil((bytes * 8) / (SPOKEN_BITS_PER_MS[format] ?? USUAL_OTHERWISE));
}
