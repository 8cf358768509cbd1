const known = new Map<number, Int32Array>();

/**
 * The comparators of Batcher's merge exchange for `count` rows (Knuth, volume 3, algorithm 5.2.2M), as pairs of row numbers: about
 * count · log²(count) / 4 of them, the same for every input, so that columns can be sorted many at a time.
 */
export function networkOf(count: number): Int32Array {
  const found = known.get(count);
  if (found) return found;
  const network = Int32Array.from(mergeExchange(count));
  // Counts come from requests, so the cache is limited.
  if (known.size >= 64) known.clear();
  known.set(count, network);
  return network;
}

function mergeExchange(count: number): number[] {
  const pairs: number[] = [];
  const top = count < 2 ? 0 : 2 ** Math.ceil(Math.log2(count)) / 2;
  for (let p = top; p > 0; p = Math.floor(p / 2)) {
    let [q, r, distance] = [top, 0, p];
    for (;;) {
      for (let row = 0; row < count - distance; row++) if ((row & p) === r) pairs.push(row, row + distance);
      if (q === p) break;
      [distance, q, r] = [q - p, q / 2, p];
    }
  }
  return pairs;
}
