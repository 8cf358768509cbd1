import type { IncomingMessage } from "node:http";
import { getCACertificates } from "node:tls";
import { guardedRequest, guardOf } from "../../common/outbound.ts";
import { placeOf } from "../../common/place.ts";
import { TrainerError } from "../errors.ts";

/** Options of a download. */
export interface RemoteOptions {
  /** The prefix of TRAINER_DATASET_URIS that allows the address. */
  readonly prefix: URL;
  /** PEM of certificate authorities to trust, in addition to the system's. */
  readonly authorities: string | undefined;
  readonly bytesMax: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * The prefix that allows an https address: the same host and port, and a path below the prefix's. Paths that a server could interpret
 * differently match no prefix.
 */
export function allowingPrefix(address: URL, prefixes: readonly string[]): URL | undefined {
  if (address.protocol !== "https:" || address.username !== "" || address.password !== "" || /%2f|%5c|\\/i.test(address.pathname))
    return undefined;
  return prefixes
    .filter((prefix) => prefix.startsWith("https://"))
    .map((prefix) => new URL(prefix))
    .find((prefix) => prefix.origin === address.origin && address.pathname.startsWith(prefix.pathname));
}

/**
 * Downloads a file from a server that the operator allowed. Redirects are not followed. A host name must not resolve to a private network
 * unless the operator's prefix names a private host, and cloud metadata services are never called.
 */
export async function fetchFile(address: URL, options: RemoteOptions): Promise<Buffer> {
  const { authorities, timeoutMs, prefix } = options;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)]);
  const judge = (host: string): void => {
    const place = placeOf(host);
    if (place === "link-local" || (place === "private" && placeOf(prefix.hostname) !== "private"))
      throw failed("its host name resolves to a private address");
  };
  try {
    const headers = { "accept-encoding": "identity" };
    const ca = authorities === undefined ? {} : { ca: [...getCACertificates("default"), authorities] };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = guardedRequest(address, { signal, headers, ...ca }, guardOf(judge));
      outgoing.on("response", resolve).on("error", reject).end();
    });
    return await readBounded(response, options.bytesMax);
  } catch (thrown) {
    if (thrown instanceof TrainerError) throw thrown;
    const { name, code } = thrown as NodeJS.ErrnoException;
    throw failed(
      name === "TimeoutError" || name === "AbortError" ? `the download took more than ${timeoutMs} ms` : `${code ?? name}`,
      thrown,
    );
  }
}

async function readBounded(response: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const { statusCode: status = 0 } = response;
  try {
    if (status === 404 || status === 410)
      throw new TrainerError("DATASET_NOT_FOUND", `The server of dataset.uri answered ${status}.`, { details: { form: "uri" } });
    if (status !== 200) throw failed(`the server answered ${status}${status >= 300 && status < 400 ? "; redirects are not followed" : ""}`);
    const chunks: Buffer[] = [];
    let total = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      total += chunk.byteLength;
      if (total > bytesMax)
        throw new TrainerError("PAYLOAD_TOO_LARGE", `The file of dataset.uri has ${total} bytes or more; the limit is ${bytesMax}.`, {
          details: { limit_bytes: bytesMax, size_bytes: total },
        });
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    response.destroy();
  }
}

function failed(why: string, cause?: unknown): TrainerError {
  return new TrainerError("VALIDATION_ERROR", `dataset.uri could not be read: ${why}.`, { details: { form: "uri" }, cause });
}
