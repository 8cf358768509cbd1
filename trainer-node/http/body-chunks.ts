import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { TrainerError } from "../errors.ts";
import type { ByteReservation } from "../pool/byte-budget.ts";
import { isGzipped } from "./body-types.ts";

/** What a streamed body counts for in the byte budget at most: about what a thread holds of it at a time. */
const STREAM_RESERVE_BYTES = 256 * 1024 * 1024;
/** Tensors hardly pack better than ten to one; a body that unpacks to more than this is made to fill memory. */
const GZIP_RATIO_MAX = 100;
/** Below this the ratio says nothing: a few zeros pack very well. */
const GZIP_FREE_BYTES = 1024 * 1024;
const GZIP_CHUNK_BYTES = 65_536;

export interface ChunkOptions {
  readonly bodyBytesMax: number;
  readonly idleMs: number;
  readonly reservation: ByteReservation;
  /** Told of every piece as it comes. */
  readonly onChunk?: ((chunk: Uint8Array) => void) | undefined;
}

export interface BodyChunks {
  /**
   * Hands on every piece in the moment it comes: kept until somebody asks for it, a piece of a fast sender would be garbage of the
   * expensive kind. `take` may stop the flow, or hold it up until its promise settles.
   */
  flow(take: (chunk: Buffer) => "more" | "stop" | Promise<unknown>): Promise<"ended" | "stopped">;
}

/** The body as it was before it was packed, refused where it is longer than allowed, or nothing of it comes for too long. */
export function bodyChunks(request: IncomingMessage, options: ChunkOptions): BodyChunks {
  const body = isGzipped(request.headers) ? unpacked(request) : request;
  const count = counter(options);
  const { idleMs } = options;
  let broken: unknown;
  let fail = (error: unknown): void => {
    broken ??= error;
  };
  request.on("close", () => request.readableEnded || fail(new Error("the body broke off")));
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
          if (!held) fail(new TrainerError("BODY_TIMEOUT", `Nothing of the body came for ${idleMs} ms.`));
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

export function tooLarge(limit: number, size: number): TrainerError {
  return new TrainerError("PAYLOAD_TOO_LARGE", `The body has ${size} bytes or more; at most ${limit} are taken.`, {
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
      new TrainerError("PAYLOAD_TOO_LARGE", `The gzip body unpacks to more than ${GZIP_RATIO_MAX} times its size; send it unpacked.`, {
        details: { ratio_max: GZIP_RATIO_MAX, size_bytes: unpackedBytes, packed_bytes: packedBytes },
      }),
    );
  });
  gunzip.pause();
  gunzip.once("error", () => request.unpipe(gunzip));
  return request.pipe(gunzip);
}

/** What zlib says of damaged bytes is the caller's mistake. */
export function explainDamage(thrown: unknown): unknown {
  const { code } = (thrown ?? {}) as { code?: unknown };
  if (typeof code !== "string" || !code.startsWith("Z_")) return thrown;
  return new TrainerError("MALFORMED_JSON", "The body is not gzip, or it breaks off, though Content-Encoding says gzip.", {
    cause: thrown,
  });
}
