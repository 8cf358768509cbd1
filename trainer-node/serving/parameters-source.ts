import type { Logger } from "../../common/logger.ts";
import { operatorFetch } from "../../common/operator-fetch.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import type { TrainerDeps } from "../deps.ts";
import { TrainerError } from "../errors.ts";

/** Options of a parameters source. */
export interface SourceOptions {
  readonly blobs: BlobStore;
  /** Addresses that serve blobs at /v1/blobs/{sha256}, tried in this order. */
  readonly urls: readonly string[];
  /** The token that those addresses require. */
  readonly token?: string | undefined;
  /** Presents this node's certificate, if it has one; the plain one if absent. */
  readonly fetch?: typeof fetch;
  readonly timeoutMs: number;
  readonly logger: Logger;
}

/**
 * Downloads a model's parameters unless this node has them, and checks their hash. They become the operator's: the gateway calls for all
 * tenants that may use the model, and tenants cannot call served models themselves (http/serve.ts).
 */
export function createParametersSource(options: SourceOptions): TrainerDeps["fetchParameters"] {
  const { blobs, urls, token, timeoutMs, logger, fetch: request = operatorFetch } = options;
  const underWay = new Map<string, Promise<void>>();

  async function pull(digest: string): Promise<void> {
    for (const url of urls) {
      try {
        const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
        const response = await request(`${url}/v1/blobs/${digest}`, { headers, signal: AbortSignal.timeout(timeoutMs) });
        if (response.ok && response.body) {
          await blobs.put(digest, chunksOf(response.body));
          return;
        }
        await response.body?.cancel();
        logger.warn({ url, digest, status: response.status }, "downloading parameters failed");
      } catch (thrown) {
        logger.warn({ url, digest, error: String(thrown) }, "downloading parameters failed");
      }
    }
    throw new TrainerError(
      "PARAMETERS_UNAVAILABLE",
      `The parameters sha256:${digest} are not on this node, and no address of BLOB_SOURCE_URL could provide them. Try again later.`,
      {
        retryAfterSeconds: 5,
        details: { sha256: digest },
      },
    );
  }

  return async ({ blob }) => {
    if (blob === undefined || (await blobs.find(blob))) return;
    // Concurrent calls share one download.
    const pulling = underWay.get(blob) ?? pull(blob).finally(() => underWay.delete(blob));
    underWay.set(blob, pulling);
    await pulling;
  };
}

async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const chunk of body) yield Buffer.from(chunk);
}
