import { say } from "../e2e/books.ts";
import { losePrimary } from "./storm/mongo-primary.ts";

// `make test` says "none" when this machine has no MongoDB; the test is then listed as skipped.
const onMongo = process.env["MONGOD"] === "none" ? test.skip : test;

onMongo(
  "a replica set loses its primary while calls run: they are served on leases, and all are settled afterwards",
  async () => {
    const { problems, figures, outages, refusals } = await losePrimary(["kill"]);
    say(`lost primary: ${JSON.stringify(outages)}, ${JSON.stringify(figures)}`);
    expect(problems).toEqual([]);
    expect(outages[0]?.served).toBeGreaterThan(0);
    // What a call waits for at most is an answer of the control plane; nothing is lost for want of a lease.
    expect(Object.keys(refusals).filter((refusal) => !refusal.startsWith("503"))).toEqual([]);
  },
  120_000,
);
