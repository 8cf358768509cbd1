/** Speech is hardly ever stored at a lower bit rate: the longest duration of a file follows from its size. */
const LOWEST_BITS_PER_MS = 16;

/** Usual bits per millisecond by kind of file, for files that do not tell their length. */
const USUAL_BITS_PER_MS: Readonly<Record<string, number>> = { wav: 256, flac: 160, mp3: 128, mp4: 96, ogg: 48, webm: 48 };
const USUAL_OTHERWISE = 64;

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
