import type { OwnershipRows, PlaneRow, SlotRow } from "../stores/ownership-rows.ts";

/** Rows in memory, for tests and simulations of several planes in one process. `changed` is called in the step that changes a slot's row. */
export function memoryRows(count: number, changed: (row: SlotRow) => void = () => {}): OwnershipRows {
  const planes = new Map<string, PlaneRow>();
  const slots: SlotRow[] = Array.from({ length: count }, (_, slot) => ({ slot, epoch: 0, owner: undefined }));
  const change = (rows: readonly SlotRow[], owner: string | undefined) =>
    rows.flatMap(({ slot, epoch }) => {
      if (slots[slot]?.epoch !== epoch) return [];
      const row = { slot, epoch: epoch + 1, owner };
      slots[slot] = row;
      changed(row);
      return [row];
    });
  return {
    beat: async (plane) => void planes.set(plane.id, { ...plane }),
    remove: async ({ id, beat }) => {
      if (planes.get(id)?.beat === beat) planes.delete(id);
    },
    planes: async () => [...planes.values()],
    slots: async () => [...slots],
    take: async (rows, owner) => change(rows, owner),
    giveUp: async (rows) => void change(rows, undefined),
  };
}
