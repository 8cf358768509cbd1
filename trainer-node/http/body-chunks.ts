import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { TrainerError } from "../errors.ts";
import type { ByteReservation } from "../pool/byte-budget.ts";
import { isGzipped } from "./body-types.ts";

/** Most bytes that a streamed body reserves of the byte budget: about as much as a thread holds of it at a time. */
const STREAM_RESERVE_BYTES = 256 * 1024 * 1024;
/** Tensors rarely compress better than ten to one. A body with a higher ratio than this is built to exhaust memory. */
const GZIP_RATIO_MAX = 100;
/** Below this size the ratio is not checked, because a few zeros compress very well. */
const GZIP_FREE_BYTES = 1024 * 1024;
const GZIP_CHUNK_BYTES = 65_536;

/** Limits of a request body, and who counts it. */
export interface ChunkOptions {
  readonly bodyBytesMax: number;
  readonly idleMs: number;
  readonly reservation: ByteReservation;
  /** Called with every chunk as it arrives. */
  readonly onChunk?: ((chunk: Uint8Array) => void) | undefined;
}

/** The chunks of a request body. */
export interface BodyChunks {
  /**
   * Calls `take` with every chunk as it arrives: chunks that wait for a reader survive to the old generation and make garbage collection
   * expensive. `take` may stop the flow, or pause it until its promise settles.
   */
  flow(take: (chunk: Buffer) => "more" | "stop" | Promise<unknown>): Promise<"ended" | "stopped">;
}

/** The decompressed body. It fails if the body is longer than allowed or its sender pauses for too long. */
export function bodyChunks(request: IncomingMessage, options: ChunkOptions): BodyChunks {
  const body = isGzipped(request.headers) ? unpacked(request) : request;
  const count = counter(options);
  const { idleMs } = options;
  let broken: unknown;
  let fail = (error: unknown): void => {
    broken ??= error;
  };
  request.on("close", () => request.readableEnded || fail(new Error("the connection closed before the end of the body")));
  for (const stream of new Set<Readable>([request, body])) stream.on("error", (error) => fail(error));
  return {
    flow: (take) =>
      new Promise((resolve, reject) => {
        let held = false;
        const settle = (outcome: "ended" | "stopped" | { error: unknown }): void => {
          clearInterval(timer);
          body.off("data", data).off("end", end).pause();
          fail = (error) => {
            broken ??= error;
          };
          if (typeof outcome === "string") resolve(outcome);
          else reject(outcome.error);
        };
        fail = (error) => settle({ error });
        const timer = setInterval(() => {
          if (!held) fail(new TrainerError("BODY_TIMEOUT", `The sender of the body paused for more than ${idleMs} ms.`));
        }, idleMs).unref();
        const hold = async (until: Promise<unknown>): Promise<void> => {
          held = true;
          body.pause();
          await until;
          held = false;
          timer.refresh();
          body.resume();
        };
        const data = (chunk: Buffer): void => {
          try {
            timer.refresh();
            count(chunk);
            const next = take(chunk);
            if (next === "stop") settle("stopped");
            else if (next !== "more") hold(next).catch(fail);
          } catch (thrown) {
            fail(thrown);
          }
        };
        const end = (): void => settle("ended");
        if (broken !== undefined) fail(broken);
        else if (body.readableEnded) end();
        else body.on("data", data).on("end", end).resume();
      }),
  };
}

function counter({ bodyBytesMax, reservation, onChunk }: ChunkOptions): (chunk: Buffer) => void {
  let total = 0;
  return (chunk) => {
    total += chunk.byteLength;
    if (total > bodyBytesMax) throw tooLarge(bodyBytesMax, total);
    if (total <= STREAM_RESERVE_BYTES) reservation.grow(chunk.byteLength);
    onChunk?.(chunk);
  };
}

/** The error for a body above its limit. */
export function tooLarge(limit: number, size: number): TrainerError {
  return new TrainerError("PAYLOAD_TOO_LARGE", `The body has ${size} bytes or more; the limit is ${limit}.`, {
    details: { limit_bytes: limit, size_bytes: size },
  });
}

function unpacked(request: IncomingMessage): Readable {
  const gunzip = createGunzip({ chunkSize: GZIP_CHUNK_BYTES });
  let [packedBytes, unpackedBytes] = [0, 0];
  request.on("data", (chunk: Buffer) => {
    packedBytes += chunk.byteLength;
  });
  gunzip.on("data", (chunk: Buffer) => {
    unpackedBytes += chunk.byteLength;
    if (unpackedBytes <= GZIP_FREE_BYTES || unpackedBytes <= GZIP_RATIO_MAX * packedBytes) return;
    gunzip.destroy(
      new TrainerError(
        "PAYLOAD_TOO_LARGE",
        `The gzip body decompresses to more than ${GZIP_RATIO_MAX} times its size; send it uncompressed.`,
        {
          details: { ratio_max: GZIP_RATIO_MAX, size_bytes: unpackedBytes, packed_bytes: packedBytes },
        },
      ),
    );
  });
  gunzip.pause();
  gunzip.once("error", () => request.unpipe(gunzip));
  return request.pipe(gunzip);
}

/** A zlib error means that the caller sent damaged bytes, so it becomes a 400. */
export function explainDamage(thrown: unknown): unknown {
  const { code } = (thrown ?? {}) as { code?: unknown };
  if (typeof code !== "string" || !code.startsWith("Z_")) return thrown;
  return new TrainerError("MALFORMED_JSON", "Content-Encoding is gzip, but the body is not gzip or is truncated.", {
    cause: thrown,
  });
}
