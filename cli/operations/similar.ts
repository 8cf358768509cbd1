/** The word among `known` that a misspelled word most likely means, if one is close enough. */
export function similarTo(word: string, known: readonly string[]): string | undefined {
  const ranked = known.map((name) => ({ name, distance: editDistance(word, name) })).sort((left, right) => left.distance - right.distance);
  const [best] = ranked;
  if (best === undefined) return undefined;
  if (best.distance <= Math.max(1, Math.floor(Math.max(word.length, best.name.length) * SHARE_MAX))) return best.name;
  return word.length >= PREFIX_MIN ? known.find((name) => name.startsWith(word)) : undefined;
}

const SHARE_MAX = 0.4;
const PREFIX_MIN = 2;
const LENGTH_MAX = 40;

/** Damerau's edit distance: letters added, left out, replaced, or swapped with their neighbor. */
function editDistance(left: string, right: string): number {
  if (left.length > LENGTH_MAX || right.length > LENGTH_MAX) return Number.POSITIVE_INFINITY;
  const rows: number[][] = [Array.from({ length: right.length + 1 }, (_, index) => index)];
  for (let row = 1; row <= left.length; row++) {
    rows[row] = [row];
    for (let column = 1; column <= right.length; column++) setCell(rows, { row, column, left, right });
  }
  return rows[left.length]?.[right.length] ?? 0;
}

function setCell(rows: number[][], { row, column, left, right }: { row: number; column: number; left: string; right: string }): void {
  const at = (up: number, back: number) => rows[row - up]?.[column - back] ?? Number.POSITIVE_INFINITY;
  const isSame = left[row - 1] === right[column - 1];
  const isSwap = row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
  const best = Math.min(at(1, 0) + 1, at(0, 1) + 1, at(1, 1) + (isSame ? 0 : 1), isSwap ? at(2, 2) + 1 : Number.POSITIVE_INFINITY);
  (rows[row] ?? [])[column] = best;
}
