import { printedSeed, printLine } from "../e2e/ledger-checks.ts";
import { canMount, fullDisk } from "./storm/full-disk.ts";
import { lastCent } from "./storm/last-cent.ts";
import { storm } from "./storm/storm.ts";

const STRIKES = 8;

test(`${STRIKES} kills, stops and terminations of edges and control plane under 50 streams: no call is lost, none is billed twice or for more than was delivered`, async () => {
  const seed = printedSeed("kill storm");
  const { problems, figures, strikes, tookMs } = await storm({
    seed,
    edges: 2,
    streams: 50,
    strikes: STRIKES,
    everyMs: 500,
    budgetMs: 60_000,
  });
  printLine(`kill storm: ${JSON.stringify(strikes)}, ${JSON.stringify(figures)}, ${Math.round(tookMs)} ms`);
  expect(problems).toEqual([]);
  expect([figures.lost, figures.doubleBilled]).toEqual([0, 0]);
  expect(figures.ended).toBeGreaterThan(0);
}, 180_000);

test("400 long calls at once on one cent, over four edges, overspend by no more than one call each", async () => {
  const { problems, balanceNano, boundNano, admitted, refusals } = await lastCent({ edges: 4, calls: 400 });
  printLine(`last cent: ${admitted} admitted, balance ${balanceNano} nano-USD, bound ${boundNano}, ${JSON.stringify(refusals)}`);
  expect(problems).toEqual([]);
  expect(balanceNano).toBeGreaterThanOrEqual(boundNano);
  expect(admitted).toBeGreaterThan(0);
});

// Listed as skipped where no process may have a file system of its own.
const onOwnDisk = canMount() ? test : test.skip;

onOwnDisk(
  "a full disk under the journal refuses new calls and readiness, loses none that runs, and is over by itself",
  async () => {
    const { problems, refusedStatus, refusal, endedWhileFull, backAfterMs } = await fullDisk();
    printLine(`full disk: ${refusedStatus}, ${endedWhileFull} running calls ended, back after ${backAfterMs} ms`);
    expect(problems).toEqual([]);
    expect(refusal).toContain("disk is full");
  },
  120_000,
);
