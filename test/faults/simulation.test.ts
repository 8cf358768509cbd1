import { printLine } from "../e2e/ledger-checks.ts";
import { isThorough } from "../helpers/thorough.ts";
import { PLANTED_BUGS } from "./sim/mutants.ts";
import { simulate } from "./sim/simulate.ts";

const SEEDS = isThorough ? 100 : 40;
/** Enough for the rarest: it needs a settlement that comes after its lease. */
const MUTANT_SEEDS = 1500;

test(`${SEEDS} seeds of calls, deaths, power cuts, lost slots and a bad network: every call is settled once, and every balance is right`, async () => {
  const failed: string[] = [];
  const sums = { calls: 0, admitted: 0, cut: 0, faults: 0, owners: 0 };
  for (let seed = 0; seed < SEEDS; seed++) {
    const { violations, calls, admitted, cut, hits } = await simulate(seed);
    failed.push(...violations.map(({ invariant, what }) => `SEED=${seed} ${invariant}: ${what}`));
    sums.calls += calls;
    sums.admitted += admitted;
    sums.cut += cut;
    sums.owners += hits.get("a slot has another owner") ?? 0;
    sums.faults += [...hits.values()].reduce((total, count) => total + count, 0);
  }
  printLine(`simulation: ${SEEDS} seeds, ${JSON.stringify(sums)}`);
  expect(failed).toEqual([]);
  expect(sums.cut).toBeGreaterThan(SEEDS / 5);
  expect(sums.owners).toBeGreaterThan(SEEDS);
});

test("a seed played twice happens twice in the same way", async () => {
  for (const seed of [1, 2, 3, 57, 58, 59]) {
    const [first, second] = [await simulate(seed), await simulate(seed)];
    expect([seed, second.hash, second.events]).toEqual([seed, first.hash, first.events]);
  }
});

test.each(PLANTED_BUGS.map((bug) => [bug.name, bug] as const))(
  "planted bug, %s: is caught by the invariant it breaks",
  async (_name, bug) => {
    // Where it was found last comes first.
    for (const seed of [bug.foundAt, ...Array(MUTANT_SEEDS).keys()]) {
      const { violations } = await simulate(seed, { mutant: bug });
      if (!violations.some(({ invariant }) => invariant === bug.caughtBy)) continue;
      // Hundreds of seeds are played where the first does not notice it any more.
      if (seed !== bug.foundAt) printLine(`planted bug, ${bug.name}: seed ${bug.foundAt} does not notice it, set foundAt to ${seed}`);
      return;
    }
    throw new Error(`${MUTANT_SEEDS} seeds did not notice it`);
  },
  240_000,
);
