import { type CountCallsResponse, RatesServiceService } from "../../../proto/gen/tributary/rates/v1/rates.ts";
import type { CountedCalls } from "../../credit/counted-calls.ts";
import type { LimitOwners } from "../../credit/shared-limits.ts";
import type { Forwarder } from "../../peers/forward.ts";
import type { Slots } from "../../slots/slots.ts";
import { fromOutcome, toCountedCall, toReturned } from "./messages.ts";
import { ratesHandlers } from "./service.ts";

/** Asks the owners of limits over gRPC, or this control plane if it has become the owner meanwhile. */
export function createLimitOwners({
  slots,
  forwarder,
  counted,
}: {
  slots: Pick<Slots, "count" | "isOwned">;
  forwarder: Pick<Forwarder, "ask">;
  counted: CountedCalls;
}): LimitOwners {
  const here = ratesHandlers({ slots, counted });
  return {
    slots: slots.count,
    isOwned: (slot) => slots.isOwned(slot),
    async count(slot, calls) {
      const request = { slot, calls: calls.map(toCountedCall) };
      const method = RatesServiceService.countCalls;
      const answer = await forwarder.ask(slot, { method, request, here: () => here.countCalls(request, OWN) });
      return (answer as CountCallsResponse).outcomes.map(fromOutcome);
    },
    async giveBack(slot, calls) {
      const request = { slot, calls: calls.map(toReturned) };
      await forwarder.ask(slot, { method: RatesServiceService.returnCalls, request, here: () => here.returnCalls(request, OWN) });
    },
  };
}

/** The context of a call within this process. */
const OWN = { metadata: {}, signal: new AbortController().signal, setHeader: () => {} };
