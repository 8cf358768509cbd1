/** A living control plane. */
export interface Plane {
  readonly id: string;
  readonly address: string;
}

/** The owner of a slot as this process knows it. */
export interface SlotOwner extends Plane {
  readonly epoch: number;
}

/** Which slots this control plane owns, and who owns the others. */
export interface Slots {
  readonly count: number;
  /** This control plane. */
  readonly self: Plane;
  /** The epoch under which this plane may commit in a slot; undefined: it does not own the slot. */
  epochOf(slot: number): number | undefined;
  /** Whether this plane may answer from its memory for a slot: grant limits and credit, and read balances. */
  isOwned(slot: number): boolean;
  /** Undefined: no living plane. */
  ownerOf(slot: number): SlotOwner | undefined;
  /** Planes that live, this one included. */
  planes(): readonly Plane[];
  /** Looks again now; resolves when `ownerOf` is new. */
  look(): Promise<void>;
  /** Rises with each change of an owner or a plane. */
  readonly version: number;
  /** Calls back when slots were lost: what is in memory of their organizations does not count any more. */
  onLost(listener: (slots: ReadonlySet<number>) => void): void;
  /** Drains, gives every slot up and ends. */
  leave(drained: () => Promise<void>): Promise<void>;
}

/** The slots of a store that only one process can open: it owns all of them for as long as it lives, at no cost. */
export function allSlots({ count, self }: { count: number; self: Plane }): Slots {
  const owner = { ...self, epoch: 0 };
  return {
    count,
    self,
    epochOf: () => 0,
    isOwned: () => true,
    ownerOf: () => owner,
    planes: () => [self],
    look: async () => {},
    version: 0,
    onLost: () => {},
    leave: (drained) => drained(),
  };
}
