import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { uniqueName } from "../../common/random.ts";
import { joinPieces } from "../codec/pieces.ts";
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

/** The blob gets its name after its bytes are on disk. */
function keepBlob(folder: string, pieces: readonly Uint8Array[]): string {
  const name = sha256(pieces);
  const partial = join(folder, `.partial-${uniqueName()}`);
  try {
    writeFileSync(partial, joinPieces(pieces), { mode: 0o600, flush: true });
    renameSync(partial, join(folder, name));
    return name;
  } finally {
    rmSync(partial, { force: true });
  }
}
