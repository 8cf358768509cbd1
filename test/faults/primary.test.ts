import { printLine } from "../e2e/ledger-checks.ts";
import { losePrimary } from "./storm/mongo-primary.ts";

// `make test` says "none" when this machine has no MongoDB; the test is then listed as skipped.
const onMongo = process.env["MONGOD"] === "none" ? test.skip : test;

/** MongoDB's own default. */
const ELECTION_MS = 10_000;

onMongo(
  "a replica set has no primary for ten seconds while calls run: none is refused, and all are settled afterwards",
  async () => {
    const { problems, figures, outages, refusals } = await losePrimary(["kill"], { electionTimeoutMs: ELECTION_MS });
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
