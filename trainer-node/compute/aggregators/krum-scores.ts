/** Blanchard et al. 2017: a client's score is the sum of its squared distances to its n - f - 2 nearest neighbors. Lower is better. */
export function krumScores(distances: Float64Array, clients: readonly number[], options: { all: number; byzantine: number }): number[] {
  const neighbors = clients.length - options.byzantine - 2;
  return clients.map((client) => {
    const others = clients.filter((other) => other !== client).map((other) => distances[client * options.all + other] as number);
    return others
      .toSorted((left, right) => left - right)
      .slice(0, Math.max(1, neighbors))
      .reduce((total, distance) => total + distance, 0);
  });
}

/** Indexes of the lowest scores; of equal scores, the earlier one comes first. */
export function lowest(scores: readonly number[], count: number): number[] {
  const places = [...scores.keys()].toSorted((left, right) => (scores[left] as number) - (scores[right] as number) || left - right);
  return places.slice(0, count);
}
