/** What many seeds came to. */
export interface SeedTally {
  seeds: number;
  replayed: number;
  calls: number;
  admitted: number;
  /** Calls in whose middle an edge died. */
  cut: number;
  events: number;
  /** The most in any seed, in nano-USD. */
  overspentNano: number;
  unbilledNano: number;
  readonly hits: Record<string, number>;
  readonly violations: { readonly seed: number; readonly invariant: string; readonly what: string }[];
}

export function emptyTally(): SeedTally {
  return { seeds: 0, replayed: 0, calls: 0, admitted: 0, cut: 0, events: 0, overspentNano: 0, unbilledNano: 0, hits: {}, violations: [] };
}

export function addTallies(tallies: readonly SeedTally[]): SeedTally {
  const total = emptyTally();
  for (const each of tallies) {
    total.seeds += each.seeds;
    total.replayed += each.replayed;
    total.calls += each.calls;
    total.admitted += each.admitted;
    total.cut += each.cut;
    total.events += each.events;
    total.overspentNano = Math.max(total.overspentNano, each.overspentNano);
    total.unbilledNano = Math.max(total.unbilledNano, each.unbilledNano);
    for (const [fault, count] of Object.entries(each.hits)) total.hits[fault] = (total.hits[fault] ?? 0) + count;
    total.violations.push(...each.violations);
  }
  return total;
}
