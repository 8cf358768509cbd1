/** A control plane as its row says it. */
export interface PlaneRow {
  /** Random id of the process. */
  readonly id: string;
  /** Where other processes reach it, `host:port`. */
  readonly address: string;
  /** A counter that the plane raises each second. It is no time: machines do not compare their clocks. */
  readonly beat: number;
}

/** Who owns a slot. */
export interface SlotRow {
  readonly slot: number;
  /** Rises with each change of the owner; 0 for a slot without an owner so far. */
  readonly epoch: number;
  /** Id of a plane; undefined: none. */
  readonly owner: string | undefined;
}

/**
 * The rows of planes and slots in a store that several control planes share: a port of the ownership, not part of the store's own
 * collections, because they are written outside its transactions. Every write is durable when it resolves.
 */
export interface OwnershipRows {
  beat(plane: PlaneRow): Promise<void>;
  /** Removes a plane, if its beat is still the given one. */
  remove(plane: Pick<PlaneRow, "id" | "beat">): Promise<void>;
  planes(): Promise<readonly PlaneRow[]>;
  /** Every slot, in order. */
  slots(): Promise<readonly SlotRow[]>;
  /** Gives each slot that still has its epoch to the owner, with the next epoch. Returns the slots that the owner has now. */
  take(slots: readonly SlotRow[], owner: string): Promise<readonly SlotRow[]>;
  /** Clears the owner of each slot that still has its epoch, with the next epoch. */
  giveUp(slots: readonly SlotRow[]): Promise<void>;
}
