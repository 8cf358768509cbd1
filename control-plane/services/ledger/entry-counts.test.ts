import fc from "fast-check";
import { reportedCall, settle, withLedger } from "../../proof/ledger-fixture.ts";
import type { Bounds, Store } from "../../stores/store.ts";
import { EntryCounts } from "./entry-counts.ts";

let calls = 0;
const settled = (store: Store, organizationId: string, count: number) =>
  settle(
    store,
    Array.from({ length: count }, () => reportedCall(`call_${calls++}`, 1n, { organizationId })),
  );

test("the count is that of the store after any batches of any organizations, in one slot and in several", async () => {
  const batches = fc.array(fc.tuple(fc.constantFrom("org_1", "org_2"), fc.integer({ min: 1, max: 9 })), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(batches, fc.constantFrom(1, 4), (made, slots) =>
      withLedger(
        async (store) => {
          const counts = new EntryCounts(store);
          for (const [organizationId, count] of made) {
            await settled(store, organizationId, count);
            const expected = await store.count("ledger", { index: "byOrganization", equals: [organizationId] });
            expect(await counts.of(organizationId)).toBe(expected);
          }
          expect(await counts.of("org_none")).toBe(0);
        },
        { slots },
      ),
    ),
    { numRuns: 15 },
  );
});

test("what was counted is not counted again", async () => {
  await withLedger(async (store) => {
    const asked: Bounds[] = [];
    const counts = new EntryCounts({
      scan: (collection, range) => store.scan(collection, range),
      count: (collection, range = {}) => {
        asked.push(range);
        return store.count(collection, range);
      },
    });
    await settled(store, "org_1", 40);
    const first = await counts.of("org_1");
    await settled(store, "org_1", 2);
    expect(await Promise.all([counts.of("org_1"), counts.of("org_1")])).toEqual([first + 2, first + 2]);
    expect(await counts.of("org_1")).toBe(first + 2);
    expect(asked).toHaveLength(3);
    expect(asked.slice(1).map(({ from, before }) => Number(before) - Number(from))).toEqual([2, 2]);
  });
});
