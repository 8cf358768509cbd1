import type { BlobAggregation } from "./aggregate-blobs.ts";

/** The body of `/aggregate` for updates that are blobs. An invalid client is dropped instead of failing the round. */
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
