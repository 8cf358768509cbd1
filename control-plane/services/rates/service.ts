import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import type { RatesServiceService } from "../../../proto/gen/tributary/rates/v1/rates.ts";
import { NotOwner } from "../../domain/not-owner.ts";
import type { ControlDeps } from "../deps.ts";
import { fromCountedCall, fromReturned, toOutcome } from "./messages.ts";

type RateDeps = Pick<ControlDeps, "counted"> & { readonly slots: Pick<ControlDeps["slots"], "isOwned"> };

/** Counts calls that other control planes admit, under limits of the slots that this one owns. */
export function ratesHandlers({ slots, counted }: RateDeps): ServiceHandlers<typeof RatesServiceService> {
  const requireSlot = (slot: number) => {
    if (!slots.isOwned(slot)) throw new NotOwner(slot);
  };
  return {
    async countCalls({ slot, calls }) {
      requireSlot(slot);
      return { outcomes: calls.map((call) => toOutcome(counted.count(slot, fromCountedCall(call)))) };
    },

    async returnCalls({ slot, calls }) {
      requireSlot(slot);
      for (const call of calls) counted.take(slot, fromReturned(call));
      return {};
    },
  };
}
