/** Chance with a seed: what a run did can be done again. */
export interface Chance {
  /** A whole number from 0 to below the limit. */
  below(limit: number): number;
  /** A whole number of the range, both ends in it. */
  between(least: number, most: number): number;
  happens(probability: number): boolean;
  pick<T>(choices: readonly T[]): T;
}

export function chance(seed: number): Chance {
  let state = (seed ^ 0x9e3779b9) >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    below,
    between: (least, most) => least + below(most - least + 1),
    happens: (probability) => next() < probability,
    pick: (choices) => {
      const choice = choices[below(choices.length)];
      if (choice === undefined) throw new Error("nothing to choose from");
      return choice;
    },
  };
}
