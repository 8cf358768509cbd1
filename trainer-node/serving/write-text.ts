import type { Sampling, WriteAnswer } from "./serve-request.ts";

export interface WriteOptions {
  readonly prompt: string;
  readonly bytesMax: number;
  readonly stop: readonly string[];
  readonly sampling: Sampling;
  readonly signal: AbortSignal;
  /** The next bytes after these. */
  readonly next: (piece: { tail: Uint8Array; position: number; count: number; sampling: Sampling }) => Promise<WriteAnswer>;
}

export interface Ending {
  readonly reason: "stop" | "length";
  /** What the model wrote of the answer, the stop left out. */
  readonly bytes: number;
}

/** How far back any model of bytes may look. */
const TAIL_BYTES_MAX = 4096;
/** The first piece is short, so that something is soon to be seen; later ones grow, so that few of them are needed. */
const PIECE_BYTES = { first: 16, most: 256 } as const;

/**
 * An answer in pieces of text, as they are written; returns how it ended. Each piece is a task of its own: many answers share the threads, and
 * one that nobody waits for any more ends after its piece.
 */
export async function* writeText(options: WriteOptions): AsyncGenerator<string, Ending> {
  const { bytesMax, sampling, signal, next } = options;
  const stops = options.stop.map((text) => Buffer.from(text));
  // What may be the beginning of a stop is held back until it is known not to be one.
  const heldMax = Math.max(0, ...stops.map((stop) => stop.length - 1));
  const decoder = new TextDecoder();
  let written = Buffer.alloc(0);
  let shown = 0;
  let text: Buffer = Buffer.from(options.prompt);
  for (let size: number = PIECE_BYTES.first; ; size = Math.min(size * 2, PIECE_BYTES.most)) {
    signal.throwIfAborted();
    const count = Math.min(size, bytesMax - written.length);
    const answer = await next({ tail: text.subarray(-TAIL_BYTES_MAX), position: written.length, count, sampling });
    const piece = Buffer.from(answer.bytes);
    const searchFrom = Math.max(0, written.length - heldMax);
    written = Buffer.concat([written, piece]);
    text = Buffer.concat([text.subarray(-TAIL_BYTES_MAX), piece]);
    const stopAt = firstStop(written, stops, searchFrom);
    const isOver = stopAt !== undefined || answer.ended || written.length >= bytesMax;
    const end = stopAt ?? (isOver ? written.length : Math.max(shown, written.length - heldMax));
    const shownText = decoder.decode(written.subarray(shown, end), { stream: !isOver });
    shown = end;
    if (shownText !== "") yield shownText;
    if (isOver) return { reason: stopAt !== undefined || answer.ended ? "stop" : "length", bytes: end };
  }
}

function firstStop(written: Buffer, stops: readonly Buffer[], from: number): number | undefined {
  const found = stops.map((stop) => written.indexOf(stop, from)).filter((at) => at >= 0);
  return found.length > 0 ? Math.min(...found) : undefined;
}
