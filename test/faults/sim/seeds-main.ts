/** A process that plays seeds: every `step`-th from `first` to below `last`, until the time is up. Reports what it saw when it ends. */
import { simulate } from "./simulate.ts";
import { emptyTally, type SeedTally } from "./tally.ts";

const [first = 0, last = 0, step = 1, budgetMs = 0] = process.argv.slice(2).map(Number);
const untilMs = performance.now() + budgetMs;
const tally: SeedTally = emptyTally();

for (let seed = first; seed < last && performance.now() < untilMs; seed += step) {
  const { violations, hash, events, hits, calls, admitted, cut, worst } = await simulate(seed);
  tally.seeds++;
  tally.calls += calls;
  tally.admitted += admitted;
  tally.cut += cut;
  tally.events += events;
  tally.overspentNano = Math.max(tally.overspentNano, Number(worst.overspentNano));
  tally.unbilledNano = Math.max(tally.unbilledNano, Number(worst.unbilledNano));
  for (const [fault, count] of hits) tally.hits[fault] = (tally.hits[fault] ?? 0) + count;
  for (const { invariant, what } of violations) tally.violations.push({ seed, invariant, what });
  // Now and then once more: the same seed must do the same.
  if (seed % 200 < step) {
    tally.replayed++;
    if ((await simulate(seed)).hash !== hash)
      tally.violations.push({ seed, invariant: "replay", what: "the same seed did something else" });
  }
}
process.send?.(tally);
process.disconnect();
