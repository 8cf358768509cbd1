import type { Dataset } from "./dataset.ts";
import { type SyntheticSettings, syntheticDevice } from "./synthetic.ts";

/** Of one thread: the made-up data of devices it was asked for lately. Making them takes longer than an epoch over them. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024;
const DEVICE_BYTES_MAX = 8 * 1024 * 1024;

const kept = new Map<string, Dataset>();
let keptBytes = 0;

/** syntheticDevice, remembered: the same settings give the same rows, which nobody writes to. */
export function rememberedDevice({ alpha, beta, device, seed, iid }: SyntheticSettings): Dataset {
  const key = `${alpha}/${beta}/${device}/${seed}/${iid}`;
  const known = kept.get(key);
  if (known) {
    // The one that was asked for last goes last.
    kept.delete(key);
    kept.set(key, known);
    return known;
  }
  const made = syntheticDevice({ alpha, beta, device, seed, iid });
  if (bytesOf(made) > DEVICE_BYTES_MAX) return made;
  kept.set(key, made);
  keptBytes += bytesOf(made);
  for (const [oldest, dataset] of kept) {
    if (keptBytes <= KEPT_BYTES_MAX) break;
    kept.delete(oldest);
    keptBytes -= bytesOf(dataset);
  }
  return made;
}

const bytesOf = ({ features, labels }: Dataset): number => features.byteLength + labels.byteLength;
