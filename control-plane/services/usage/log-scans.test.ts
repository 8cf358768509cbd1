import { setImmediate as nextTurn } from "node:timers/promises";
import { systemClock } from "../../../common/clock.ts";
import { LogScans, type ScanBudget } from "./log-scans.ts";

const LIMITS = { freeRecords: 10, recordsMax: 1_000, timeMsMax: 60_000, waitMsMax: 50, atOnce: 2 };

const scansOf = (limits: Partial<typeof LIMITS> = {}) => new LogScans({ clock: systemClock, limits: { ...LIMITS, ...limits } });
const never = new AbortController().signal;

/** A scan that has a slot until the test ends it. */
async function openScan(scans: LogScans, organizationId: string) {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const { promise: placed, resolve: place } = Promise.withResolvers<ScanBudget>();
  const done = scans.run({ organizationId, signal: never }, async (budget) => {
    await countTo(budget, LIMITS.freeRecords);
    place(budget);
    await ended;
  });
  return {
    budget: await placed,
    close: async () => {
      end();
      await done;
    },
  };
}

async function countTo(budget: ScanBudget, records: number): Promise<void> {
  for (let record = 0; record < records && !budget.isSpent; record++) await budget.count();
}

test("an organization has one long scan at a time, the process a few; a short one waits for none of them", async () => {
  const scans = scansOf();
  const first = await openScan(scans, "org_1");
  const second = await openScan(scans, "org_2");
  expect([first.budget.hasSlot, second.budget.hasSlot]).toEqual([true, true]);
  for (const organizationId of ["org_1", "org_3"]) {
    await scans.run({ organizationId, signal: never }, async (budget) => {
      await countTo(budget, LIMITS.freeRecords - 1);
      expect(budget.isSpent).toBe(false);
      // Its share is spent when no place becomes free in time: it answers with what it has.
      await countTo(budget, 1);
      expect([budget.isSpent, budget.hasSlot]).toEqual([true, false]);
    });
  }
  await first.close();
  await second.close();
});

test("a place that becomes free goes to the first that may have it", async () => {
  const scans = scansOf({ waitMsMax: 60_000 });
  const first = await openScan(scans, "org_1");
  const other = await openScan(scans, "org_2");
  const order: string[] = [];
  const waiting = ["org_2", "org_1", "org_3"].map((organizationId) =>
    openScan(scans, organizationId).then((scan) => {
      order.push(organizationId);
      return scan;
    }),
  );
  await nextTurn();
  await first.close();
  await (await (waiting[1] as (typeof waiting)[number])).close();
  await (await (waiting[2] as (typeof waiting)[number])).close();
  expect(order).toEqual(["org_1", "org_3"]);
  await other.close();
  await (await (waiting[0] as (typeof waiting)[number])).close();
});

test("a scan whose caller has left ends, and leaves the queue", async () => {
  const scans = scansOf({ waitMsMax: 60_000 });
  const first = await openScan(scans, "org_1");
  const caller = new AbortController();
  const left = scans.run({ organizationId: "org_1", signal: caller.signal, isUnlimited: true }, (budget) =>
    countTo(budget, LIMITS.freeRecords),
  );
  caller.abort(new Error("the caller left"));
  await expect(left).rejects.toThrow("the caller left");
  await first.close();
  await (await openScan(scans, "org_1")).close();
});

test("a scan without a limit goes on beyond the records of the others", async () => {
  const scans = scansOf();
  const counted = async (isUnlimited: boolean) =>
    scans.run({ organizationId: "org_1", signal: never, isUnlimited }, async (budget) => {
      await countTo(budget, LIMITS.recordsMax * 2);
      return budget.isSpent;
    });
  expect([await counted(true), await counted(false)]).toEqual([false, true]);
});
