import type { IncomingMessage, ServerResponse } from "node:http";
import { TrainerError } from "../errors.ts";
import type { ByteReservation } from "../pool/byte-budget.ts";

const BINARY_TYPES = [
  "application/octet-stream",
  "application/msgpack",
  "application/x-msgpack",
  "application/vnd.msgpack",
  "multipart/form-data",
];

/** How long a caller whose body was refused may go on sending it before the line is cut; cut at once, it would lose the answer. */
const LINGER_MS = 10_000;

/** The whole body in one buffer of its own, which can then be moved to a thread. Refuses by what is announced, and counts what comes. */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  options: { bodyBytesMax: number; reservation: ByteReservation },
): Promise<Uint8Array<ArrayBuffer>> {
  const { bodyBytesMax, reservation } = options;
  try {
    refuseEncoding(request);
    const announced = Number(request.headers["content-length"] ?? 0);
    if (announced > bodyBytesMax) throw tooLarge(bodyBytesMax, announced);
    // The server leaves "100 Continue" to us, so that a body that is refused is never sent.
    if (request.headers.expect?.toLowerCase() === "100-continue") response.writeContinue();
    const chunks: Buffer[] = [];
    let total = 0;
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      total += chunk.byteLength;
      if (total > bodyBytesMax) throw tooLarge(bodyBytesMax, total);
      reservation.grow(chunk.byteLength);
      chunks.push(chunk);
    }
    return joined(chunks, total);
  } catch (thrown) {
    request.resume();
    setTimeout(() => {
      if (!request.complete) request.socket.destroy();
    }, LINGER_MS).unref();
    throw thrown;
  }
}

function refuseEncoding(request: IncomingMessage): void {
  const encoding = request.headers["content-encoding"]?.trim().toLowerCase();
  if (encoding && encoding !== "identity") {
    throw new TrainerError(
      "UNSUPPORTED_PARAMETERS",
      `Content-Encoding ${encoding.slice(0, 50)} is not read by this node; send the body as it is.`,
    );
  }
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type && BINARY_TYPES.includes(type)) {
    throw new TrainerError("UNSUPPORTED_PARAMETERS", `A body of ${type} is not read by this node yet; send JSON with base64 parameters.`);
  }
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
