import { printLine } from "../e2e/ledger-checks.ts";
import { isThorough } from "../helpers/thorough.ts";
import { losePrimary } from "./storm/mongo-primary.ts";

// `make test` says "none" when this machine has no MongoDB; the test is then listed as skipped.
const onMongo = process.env["MONGOD"] === "none" ? test.skip : test;

const STRIKES = [
  // MongoDB's own default.
  ["killed", "kill", 10_000],
  // The other members go on naming a frozen one as their primary, so that this process alone seems cut off from it.
  ["frozen", "stop", 5_000],
] as const;

onMongo.each(isThorough ? STRIKES : STRIKES.slice(0, 1))(
  "the primary of a replica set is %s while calls run: until there is another no call is refused, and all are settled afterwards",
  async (_name, strike, electionTimeoutMs) => {
    const { problems, figures, outages, refusals } = await losePrimary([strike], { electionTimeoutMs });
    printLine(`lost primary: ${JSON.stringify(outages)}, ${JSON.stringify(figures)}`);
    expect(problems).toEqual([]);
    expect(outages[0]?.served).toBeGreaterThan(0);
    // Longer than edges go on without a sign of life.
    expect(outages[0]?.electionMs).toBeGreaterThan(6000);
    expect(refusals).toEqual({});
    expect(outages[0]?.failed).toBe(0);
  },
  120_000,
);
