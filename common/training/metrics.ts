/** Numbers by their name, as a participant's train or evaluate returned them. */
export type Metrics = Readonly<Record<string, number>>;

const NAMES_MAX = 64;
const NAME_LENGTH_MAX = 64;
const DEPTH_MAX = 3;
const NUMBER_BYTES = 16;
/** Bytes of one kind of metrics in a round. A round is one message between processes, which has at most 4 MiB. */
const ROUND_BYTES = 512 * 1024;

/**
 * The finite numbers of a participant's `metrics`: at most 64 of them, with names of at most 64 characters. Objects within it are read too,
 * with names such as `f1/cat`; everything else is left out. Participants of a large round have less room each.
 */
export function readMetrics(given: unknown, participants = 1): Metrics {
  let bytes = Math.floor(ROUND_BYTES / Math.max(1, participants));
  const found: [string, number][] = [];
  for (const [name, value] of numbersIn(given, "", DEPTH_MAX)) {
    bytes -= Buffer.byteLength(name) + NUMBER_BYTES;
    if (bytes < 0 || found.length >= NAMES_MAX) break;
    found.push([name, value]);
  }
  return Object.fromEntries(found);
}

function* numbersIn(given: unknown, prefix: string, depth: number): Generator<[string, number]> {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return;
  for (const [key, value] of Object.entries(given)) {
    // Control characters and unpaired surrogates.
    const name = (prefix + key.replaceAll(/\p{C}/gu, "")).slice(0, NAME_LENGTH_MAX);
    if (typeof value === "number" && Number.isFinite(value) && name !== "") yield [name, value];
    else if (depth > 1) yield* numbersIn(value, `${name}/`, depth - 1);
  }
}

/** Metrics of one participant, and the samples that they are about. */
export interface MeasuredPart {
  readonly samples?: number | bigint | undefined;
  readonly metrics: Metrics;
}

/**
 * The mean of every metric over the participants that have it, weighted by their samples. If one of them omits its sample count, or all of
 * them have 0 samples, all weigh the same.
 */
export function meanMetrics(parts: readonly MeasuredPart[]): Metrics {
  const names = [...new Set(parts.flatMap(({ metrics }) => Object.keys(metrics)))];
  return Object.fromEntries(
    names.map((name) => {
      // A name may be that of a property that every object inherits.
      const having = parts.filter(({ metrics }) => Object.hasOwn(metrics, name));
      return [
        name,
        weightedMean(
          having.map(({ metrics }) => metrics[name] as number),
          sampleWeights(having),
        ),
      ];
    }),
  );
}

/** Is never beyond the least or greatest value, however it is rounded: ten times 1 are 1, which a target of 1 asks for. */
function weightedMean(values: readonly number[], weights: readonly number[]): number {
  const counted = values.filter((_, index) => (weights[index] as number) > 0);
  // Divided by a power of two, which is exact, so that the sum is finite.
  const unit = 2 ** Math.ceil(Math.log2(weights.reduce((sum, weight) => sum + weight, 0)));
  const shares = weights.map((weight) => weight / unit);
  const sum = values.reduce((before, value, index) => before + value * (shares[index] as number), 0);
  const mean = sum / shares.reduce((before, share) => before + share, 0);
  return Math.min(Math.max(...counted), Math.max(Math.min(...counted), mean));
}

/** Weights by samples: 0 samples weigh nothing. If a count is missing, or all are 0, all weigh the same. */
export function sampleWeights(parts: readonly { readonly samples?: number | bigint | undefined }[]): number[] {
  const counts = parts.map(({ samples }) => (samples === undefined ? undefined : Number(samples)));
  const areCounted = counts.every((count) => count !== undefined) && counts.some((count) => Number(count) > 0);
  return counts.map((count) => (areCounted ? Number(count) : 1));
}
