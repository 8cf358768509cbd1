import type { AudioKind } from "./audio-kind.ts";
import { flac } from "./flac.ts";
import { mp3 } from "./mp3.ts";
import { mp4 } from "./mp4.ts";
import { ogg } from "./ogg.ts";
import { wav } from "./wav.ts";

/** WebM of browsers has no length: it is written while it is recorded. */
const webm: AudioKind = { kind: "webm", isOf: (begin) => begin.readUInt32BE(0) === 0x1a45dfa3 };

/** MP3 last: its signature is the shortest. */
export const KINDS: readonly AudioKind[] = [wav, flac, ogg, mp4, webm, mp3];
