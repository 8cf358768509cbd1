import { slotOf } from "../../common/slots.ts";
import type { Plane, SlotOwners } from "../../proto/gen/tributary/access/v1/access.ts";

interface Known {
  readonly address: string;
  readonly epoch: bigint;
}

/** The address of each slot's owner, as the control planes report it. Of several reports the one with the higher epoch is right. */
export class SlotAddresses {
  #bySlot: (Known | undefined)[] = [];
  #planes: readonly Plane[] = [];

  take({ planes, owners, epochs }: SlotOwners): void {
    this.#planes = planes;
    this.#bySlot = owners.map((place, slot) => {
      const [known, address, epoch] = [this.#bySlot[slot], planes[place - 1]?.address, epochs[slot] ?? 0n];
      return address === undefined || (known !== undefined && known.epoch > epoch) ? known : { address, epoch };
    });
  }

  /** Control planes that live. */
  get planes(): readonly Plane[] {
    return this.#planes;
  }

  addressOf(organizationId: string): string | undefined {
    return this.#bySlot[slotOf(organizationId, this.#bySlot.length)]?.address;
  }
}
