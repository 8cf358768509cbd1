import type { OwnershipRows } from "../stores/ownership-rows.ts";

/** What every adapter of the rows does; `open` gives empty rows of four slots. */
export function rowsContract(name: string, open: () => Promise<OwnershipRows>): void {
  describe(`rows of ownership: ${name}`, () => {
    let rows: OwnershipRows;
    beforeEach(async () => {
      rows = await open();
    });

    test("every slot has a row from the beginning, and no owner", async () => {
      expect(await rows.slots()).toEqual([0, 1, 2, 3].map((slot) => ({ slot, epoch: 0, owner: undefined })));
    });

    test("a beat creates the plane's row and replaces it", async () => {
      await rows.beat({ id: "a", address: "a:1", beat: 1 });
      await rows.beat({ id: "a", address: "a:1", beat: 2 });
      await rows.beat({ id: "b", address: "b:1", beat: 7 });
      expect([...(await rows.planes())].sort((left, right) => left.id.localeCompare(right.id))).toEqual([
        { id: "a", address: "a:1", beat: 2 },
        { id: "b", address: "b:1", beat: 7 },
      ]);
    });

    test("a plane is removed only with the beat that was seen", async () => {
      await rows.beat({ id: "a", address: "a:1", beat: 2 });
      await rows.remove({ id: "a", beat: 1 });
      expect(await rows.planes()).toHaveLength(1);
      await rows.remove({ id: "a", beat: 2 });
      expect(await rows.planes()).toEqual([]);
    });

    test("of two planes that take the same slots at once, each slot has one, under the next epoch", async () => {
      const free = await rows.slots();
      const [a, b] = await Promise.all([rows.take(free, "a"), rows.take(free.slice(1), "b")]);
      const now = await rows.slots();
      expect(now.map(({ epoch }) => epoch)).toEqual([1, 1, 1, 1]);
      expect([...a, ...b].sort((left, right) => left.slot - right.slot)).toEqual(now);
      expect(a.every(({ owner }) => owner === "a")).toBe(true);
    });

    test("a slot is taken from its owner with the epoch that was seen, not with an older one", async () => {
      const free = await rows.slots();
      const [first] = await rows.take(free.slice(0, 1), "a");
      expect(await rows.take(free.slice(0, 1), "b")).toEqual([]);
      expect(await rows.take(first ? [first] : [], "b")).toEqual([{ slot: 0, epoch: 2, owner: "b" }]);
    });

    test("what is given up has no owner and another epoch, unless another control plane took it before", async () => {
      const taken = await rows.take(await rows.slots(), "a");
      await rows.take(taken.slice(3), "b");
      await rows.giveUp(taken);
      expect(await rows.slots()).toEqual([
        { slot: 0, epoch: 2, owner: undefined },
        { slot: 1, epoch: 2, owner: undefined },
        { slot: 2, epoch: 2, owner: undefined },
        { slot: 3, epoch: 2, owner: "b" },
      ]);
    });
  });
}
