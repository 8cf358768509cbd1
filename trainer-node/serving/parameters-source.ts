import type { Logger } from "../../common/logger.ts";
import type { Manifest } from "../../common/trained-manifest.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import { TrainerError } from "../errors.ts";

export interface SourceOptions {
  readonly blobs: BlobStore;
  /** Addresses that have blobs at /v1/blobs/{sha256}, asked in this order. */
  readonly urls: readonly string[];
  /** What those addresses have to be shown. */
  readonly token?: string | undefined;
  readonly timeoutMs: number;
  readonly logger: Logger;
}

/** Makes sure that a model's parameters are in this node's store: there already, or pulled from who has them and checked by their hash. */
export function createParametersSource({ blobs, urls, token, timeoutMs, logger }: SourceOptions): (manifest: Manifest) => Promise<void> {
  const underWay = new Map<string, Promise<void>>();

  async function pull(digest: string): Promise<void> {
    for (const url of urls) {
      try {
        const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
        const response = await fetch(`${url}/v1/blobs/${digest}`, { headers, signal: AbortSignal.timeout(timeoutMs) });
        if (response.ok && response.body) {
          await blobs.put(digest, chunksOf(response.body));
          return;
        }
        await response.body?.cancel();
        logger.warn({ url, digest, status: response.status }, "parameters could not be pulled");
      } catch (thrown) {
        logger.warn({ url, digest, error: String(thrown) }, "parameters could not be pulled");
      }
    }
    throw new TrainerError(
      "PARAMETERS_UNAVAILABLE",
      `The parameters sha256:${digest} are not here and could not be pulled; try again later.`,
      {
        retryAfterSeconds: 5,
        details: { sha256: digest },
      },
    );
  }

  return async ({ blob }) => {
    if (blob === undefined || (await blobs.find(blob))) return;
    // One download for all who wait for it.
    const pulling = underWay.get(blob) ?? pull(blob).finally(() => underWay.delete(blob));
    underWay.set(blob, pulling);
    await pulling;
  };
}

async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const chunk of body) yield Buffer.from(chunk);
}
