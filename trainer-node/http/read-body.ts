import type { IncomingMessage, ServerResponse } from "node:http";
import { TrainerError } from "../errors.ts";
import type { ByteReservation } from "../pool/byte-budget.ts";
import { createRing, type RingMemory, ringWriter } from "../stream/ring.ts";

/** How long a caller whose body was refused may go on sending it before the line is cut; cut at once, it would lose the answer. */
const LINGER_MS = 10_000;
/** A body up to this size goes to its thread in one piece, so that a slow sender holds no thread. */
const WHOLE_BYTES_MAX = 1024 * 1024;
const RING_BYTES = 4 * 1024 * 1024;
/** What a streamed body counts for in the byte budget at most: about what a thread holds of it at a time. */
const STREAM_RESERVE_BYTES = 256 * 1024 * 1024;

export interface BodyOptions {
  readonly bodyBytesMax: number;
  readonly idleMs: number;
  readonly reservation: ByteReservation;
  /** Told of every piece as it comes. */
  readonly onChunk?: ((chunk: Uint8Array) => void) | undefined;
}

/** The beginning of a body, which is all of it unless there is a ring. */
export interface ReadBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly ring: RingMemory | undefined;
  /** Sends the rest through the ring, until it ends or `stopped` says that nobody reads any more. Gives the bytes of the whole body. */
  sendRest(stopped: AbortSignal): Promise<number>;
}

/** Refuses by what is announced, and counts what comes. What is longer than a piece is handed on while it arrives. */
export async function readBody(request: IncomingMessage, response: ServerResponse, options: BodyOptions): Promise<ReadBody> {
  const chunks = countedChunks(request, options);
  try {
    const announced = Number(request.headers["content-length"] ?? 0);
    if (announced > options.bodyBytesMax) throw tooLarge(options.bodyBytesMax, announced);
    // The server leaves "100 Continue" to us, so that a body that is refused is never sent.
    if (request.headers.expect?.toLowerCase() === "100-continue") response.writeContinue();
    const first: Buffer[] = [];
    let total = 0;
    let ended = false;
    while (total <= WHOLE_BYTES_MAX && !ended) {
      const chunk = await chunks.next();
      if (chunk) first.push(chunk);
      else ended = true;
      total += chunk?.byteLength ?? 0;
    }
    const bytes = joined(first, total);
    const ring = ended ? undefined : createRing(RING_BYTES);
    return {
      bytes,
      ring,
      sendRest: (stopped) => sendRest(chunks, ring, total, stopped).catch((thrown: unknown) => linger(request, thrown)),
    };
  } catch (thrown) {
    return linger(request, thrown);
  }
}

async function sendRest(chunks: Chunks, ring: RingMemory | undefined, already: number, stopped: AbortSignal): Promise<number> {
  if (!ring) return already;
  const writer = ringWriter(ring);
  let total = already;
  try {
    for (let chunk = await chunks.next(); chunk; chunk = await chunks.next()) {
      total += chunk.byteLength;
      // Nobody reads: the rest is let through, so that the caller gets to see the answer.
      if (!stopped.aborted) await writer.write(chunk, stopped);
    }
    writer.end();
    return total;
  } catch (thrown) {
    writer.fail();
    throw thrown;
  }
}

interface Chunks {
  next(): Promise<Buffer | undefined>;
}

/** Chunks as they are asked for, without a promise where one has come already: of a fast sender there are thousands a second. */
function countedChunks(request: IncomingMessage, { bodyBytesMax, idleMs, reservation, onChunk }: BodyOptions): Chunks {
  let total = 0;
  const arrived = arrivals(request, idleMs);
  return {
    next: async () => {
      let chunk = request.read() as Buffer | null;
      while (chunk === null) {
        if (request.readableEnded) return undefined;
        await arrived();
        chunk = request.read() as Buffer | null;
      }
      total += chunk.byteLength;
      if (total > bodyBytesMax) throw tooLarge(bodyBytesMax, total);
      if (total <= STREAM_RESERVE_BYTES) reservation.grow(chunk.byteLength);
      onChunk?.(chunk);
      return chunk;
    },
  };
}

/** Waits until there is something to read, or the end; throws where the body breaks off or nothing comes for too long. */
function arrivals(request: IncomingMessage, idleMs: number): () => Promise<void> {
  let settle: { resolve: () => void; reject: (reason: Error) => void } | undefined;
  let broken: Error | undefined;
  const timer = setTimeout(
    () => settle?.reject(new TrainerError("BODY_TIMEOUT", `Nothing of the body came for ${idleMs} ms.`)),
    idleMs,
  ).unref();
  const wake = (): void => settle?.resolve();
  const fail = (error: Error): void => {
    broken ??= error;
    settle?.reject(error);
  };
  request.on("readable", wake).on("end", wake).on("error", fail);
  request.on("close", () => {
    clearTimeout(timer);
    if (!request.readableEnded) fail(new Error("the body broke off"));
  });
  return async () => {
    if (broken) throw broken;
    timer.refresh();
    await new Promise<void>((resolve, reject) => {
      settle = { resolve, reject };
    });
    settle = undefined;
  };
}

function linger(request: IncomingMessage, thrown: unknown): never {
  // While somebody listens for something to read, nothing flows.
  request.removeAllListeners("readable");
  request.resume();
  setTimeout(() => {
    if (!request.complete) request.socket.destroy();
  }, LINGER_MS).unref();
  throw thrown;
}

function tooLarge(limit: number, size: number): TrainerError {
  return new TrainerError("PAYLOAD_TOO_LARGE", `The body has ${size} bytes or more; at most ${limit} are taken.`, {
    details: { limit_bytes: limit, size_bytes: size },
  });
}

function joined(chunks: readonly Buffer[], total: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(total);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}
