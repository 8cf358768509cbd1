import { settleWork } from "../../access/clock-fixture.ts";
import { FOLDER, finalOf, intentOf, openOn, runCall } from "./journal-fixture.ts";

test("its figures are those of its files and its calls: running, bytes, records, what the ledger lacks and since when", async () => {
  const { journal, disk } = await openOn();
  expect(journal.figures()).toEqual({ openCalls: 0, bytes: 0, records: 0, unacknowledged: 0, oldestUnacknowledgedAt: undefined });
  for (const index of [1, 2, 3]) await runCall(journal, index);
  journal.intent(intentOf(4));
  await settleWork();
  const bytes = disk.list(FOLDER).reduce((sum, name) => sum + disk.read(`${FOLDER}/${name}`).length, 0);
  const oldestUnacknowledgedAt = finalOf(1).completedAt;
  expect(journal.figures()).toEqual({ openCalls: 1, bytes, records: 13, unacknowledged: 3, oldestUnacknowledgedAt });
  const [first] = journal.unacknowledged();
  journal.acknowledge(first?.sequence ?? 0);
  expect(journal.figures()).toMatchObject({ unacknowledged: 2, oldestUnacknowledgedAt: finalOf(2).completedAt });
});

test("the oldest call is reported also when it has left memory, and after a restart", async () => {
  const { journal, disk } = await openOn(undefined, { limits: { inMemoryMax: 4 } });
  for (let index = 1; index <= 20; index++) await runCall(journal, index);
  expect(journal.figures()).toMatchObject({ unacknowledged: 20, oldestUnacknowledgedAt: finalOf(1).completedAt });
  const { journal: next } = await openOn(disk.afterPowerCut());
  expect(next.figures()).toMatchObject({ unacknowledged: 20, records: 80, oldestUnacknowledgedAt: finalOf(1).completedAt });
});
