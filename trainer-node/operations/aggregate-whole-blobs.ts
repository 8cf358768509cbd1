import { keepBlob } from "../blobs/keep-blob.ts";
import { type AggregateContext, aggregate } from "./aggregate.ts";
import type { BlobAggregation, BlobAggregationResult } from "./aggregate-blobs.ts";
import { sha256 } from "./answer.ts";
import { blobRequest } from "./blob-request.ts";

/** Aggregates blobs as `/aggregate` does, for strategies that need whole updates. The result is in memory once. */
export function aggregateWholeBlobs(request: BlobAggregation, context: AggregateContext & { folder: string }): BlobAggregationResult {
  const { state, keep } = request;
  const answer = aggregate(blobRequest(request, state === "" ? undefined : context.readBlob(state)), context);
  const put = (pieces: readonly Uint8Array[]): string => (keep ? keepBlob(context.folder, pieces) : sha256(pieces));
  return {
    parameters: put(answer.parameters ?? []),
    state: answer.state && put(answer.state),
    clients: answer.fields["clients"] as BlobAggregationResult["clients"],
  };
}
