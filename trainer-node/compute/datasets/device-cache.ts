import type { Dataset } from "./dataset.ts";
import { type SyntheticSettings, syntheticDevice } from "./synthetic.ts";

/** Cache of synthetic datasets by device, for one thread. Generating one takes longer than an epoch over it. */
const CACHED_BYTES_MAX = 32 * 1024 * 1024;
const DEVICE_BYTES_MAX = 8 * 1024 * 1024;

const cached = new Map<string, Dataset>();
let cachedBytes = 0;

/** A cached syntheticDevice: equal settings give the same rows, which are read-only. */
export function cachedDevice({ alpha, beta, device, seed, iid }: SyntheticSettings): Dataset {
  const key = `${alpha}/${beta}/${device}/${seed}/${iid}`;
  const known = cached.get(key);
  if (known) {
    // The entry used last moves to the end.
    cached.delete(key);
    cached.set(key, known);
    return known;
  }
  const made = syntheticDevice({ alpha, beta, device, seed, iid });
  if (bytesOf(made) > DEVICE_BYTES_MAX) return made;
  cached.set(key, made);
  cachedBytes += bytesOf(made);
  for (const [oldest, dataset] of cached) {
    if (cachedBytes <= CACHED_BYTES_MAX) break;
    cached.delete(oldest);
    cachedBytes -= bytesOf(dataset);
  }
  return made;
}

const bytesOf = ({ features, labels }: Dataset): number => features.byteLength + labels.byteLength;
