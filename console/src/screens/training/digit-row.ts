/** Pixels of a digit from left to right and from top to bottom. */
export const SIDE = 8;
const BESIDE = 0.5;

/** A row of the digits data: 8 by 8 pixels from 0 to 1. */
export const EMPTY_DIGIT: readonly number[] = Array.from({ length: SIDE * SIDE }, () => 0);

/** The row with ink at a pixel and half as much beside it, as a pen has. */
export function drawnAt(row: readonly number[], x: number, y: number): number[] {
  return row.map((ink, index) => {
    const distance = Math.abs((index % SIDE) - x) + Math.abs(Math.floor(index / SIDE) - y);
    return distance === 0 ? 1 : distance === 1 ? Math.max(ink, BESIDE) : ink;
  });
}

/** The row that is typed, or an empty one while it is not a row of 64 numbers. */
export function rowOf(value: string): readonly number[] {
  try {
    const row: unknown = JSON.parse(value);
    return Array.isArray(row) && row.length === EMPTY_DIGIT.length && row.every((ink) => typeof ink === "number") ? row : EMPTY_DIGIT;
  } catch {
    return EMPTY_DIGIT;
  }
}
