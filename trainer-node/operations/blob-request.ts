import type { BlobAggregation } from "./aggregate-blobs.ts";

/** What `/aggregate` is asked for when the updates are blobs, wherever that is done: a client that is no good is left out, not the round. */
export function blobRequest({ updates, strategy, base }: Pick<BlobAggregation, "updates" | "strategy" | "base">, state?: Uint8Array) {
  return {
    parameters_refs: updates.map(({ hash }) => `sha256:${hash}`),
    weights: updates.map(({ weight }) => weight),
    client_ids: updates.map(({ id }) => id),
    strategy,
    on_invalid: "drop" as const,
    ...(base === "" ? {} : { base_ref: `sha256:${base}` }),
    ...(state === undefined ? {} : { state }),
  };
}
