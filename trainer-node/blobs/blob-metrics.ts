import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Registry } from "prom-client";
import type { Clock } from "../../common/clock.ts";
import { orElse } from "../../common/ignore.ts";
import { addGauge } from "../../common/metrics/read-metrics.ts";

/** Reading a folder of many blobs at every scrape would be work for nothing. */
const KNOWN_MS = 60_000;

interface BlobFigures {
  readonly files: number;
  readonly bytes: number;
}

/** Adds the number and size of a folder's blobs, at most a minute old. */
export function addBlobMetrics(registry: Registry, { folder, clock }: { folder: string; clock: Clock }): void {
  let known: { readonly figures: Promise<BlobFigures>; readonly atMs: number } | undefined;
  const read = (): Promise<BlobFigures> => {
    const nowMs = clock.monotonicMs();
    if (!known || nowMs - known.atMs >= KNOWN_MS) known = { figures: figuresOf(folder), atMs: nowMs };
    return known.figures;
  };
  addGauge(registry, {
    name: "tributary_blob_files",
    help: "Blobs in the folder of this process.",
    read: async () => (await read()).files,
  });
  addGauge(registry, { name: "tributary_blob_bytes", help: "Size of the blobs together.", read: async () => (await read()).bytes });
}

async function figuresOf(folder: string): Promise<BlobFigures> {
  const names = (await orElse(readdir(folder), [], "the folder comes with the first blob")).filter((name) => /^[0-9a-f]{64}$/.test(name));
  let bytes = 0;
  for (const name of names) bytes += (await orElse(stat(join(folder, name)), undefined, "removed meanwhile"))?.size ?? 0;
  return { files: names.length, bytes };
}
