import type { IncomingMessage, ServerResponse } from "node:http";
import { giveBack } from "../stream/give-back.ts";
import { createRing, type RingMemory, ringWriter } from "../stream/ring.ts";
import { type BodyChunks, bodyChunks, type ChunkOptions, explainDamage, tooLarge } from "./body-chunks.ts";

/**
 * How long a client may go on sending a refused body before its connection is closed. If it were closed at once, the client would lose the
 * answer.
 */
const LINGER_MS = 10_000;
/** A body up to this size goes to its thread in one piece, so that a slow sender does not occupy a thread. */
const WHOLE_BYTES_MAX = 1024 * 1024;
const RING_BYTES = 4 * 1024 * 1024;

/** The first bytes of a body; all of it if there is no ring. */
export interface ReadBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly ring: RingMemory | undefined;
  /** Sends the rest through the ring until it ends, or until `stopped` says that the reader is gone. Returns the size of the whole body. */
  sendRest(stopped: AbortSignal): Promise<number>;
}

/**
 * Refuses a body by its Content-Length and by the bytes that arrive. A body longer than WHOLE_BYTES_MAX goes to its thread while it
 * arrives.
 */
export async function readBody(request: IncomingMessage, response: ServerResponse, options: ChunkOptions): Promise<ReadBody> {
  try {
    const announced = Number(request.headers["content-length"] ?? 0);
    if (announced > options.bodyBytesMax) throw tooLarge(options.bodyBytesMax, announced);
    const chunks = bodyChunks(request, options);
    // startServer leaves 100 Continue to this function, so that a refused body is never sent.
    if (request.headers.expect?.toLowerCase() === "100-continue") response.writeContinue();
    const first: Buffer[] = [];
    let total = 0;
    const outcome = await chunks.flow((chunk) => {
      first.push(chunk);
      total += chunk.byteLength;
      return total > WHOLE_BYTES_MAX ? "stop" : "more";
    });
    const ring = outcome === "ended" ? undefined : createRing(RING_BYTES);
    return {
      bytes: joined(first, total),
      ring,
      sendRest: async (stopped) => {
        if (!ring) return total;
        return total + (await sendRest(chunks, ring, stopped).catch((thrown: unknown) => linger(request, thrown)));
      },
    };
  } catch (thrown) {
    return linger(request, thrown);
  }
}

async function sendRest(chunks: BodyChunks, ring: RingMemory, stopped: AbortSignal): Promise<number> {
  const writer = ringWriter(ring);
  let total = 0;
  try {
    await chunks.flow((chunk) => {
      total += chunk.byteLength;
      // The reader is gone. The rest of the body is discarded, so that the client reads the answer.
      if (stopped.aborted) return "more";
      const taken = writer.offer(chunk);
      if (taken < chunk.byteLength) return writer.write(chunk.subarray(taken), stopped);
      giveBack(chunk);
      return "more";
    });
    writer.end();
    return total;
  } catch (thrown) {
    writer.fail();
    throw thrown;
  }
}

function linger(request: IncomingMessage, thrown: unknown): never {
  request.unpipe();
  request.resume();
  setTimeout(() => {
    if (!request.complete) request.socket.destroy();
  }, LINGER_MS).unref();
  throw explainDamage(thrown);
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
