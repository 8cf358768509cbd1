import { slotOf } from "../../../common/slots.ts";
import type { ControlCore } from "./control-core.ts";
import type { CreditHandlers } from "./mutant.ts";
import type { World } from "./world.ts";

/** A call that a control plane reserved by itself. */
export interface Grant {
  readonly organizationId: string;
  /** When, by the time of the simulation. */
  readonly atMs: number;
  /** The process that owned the slot then, as the store knows it. */
  readonly owner: string;
  /** The process and the epoch that have the reservation; undefined: several have parts of it. */
  readonly name: string | undefined;
}

/** Takes down what reservations are granted, by whom, and who was the owner. */
export function noteGrants(world: World, core: ControlCore, handlers: CreditHandlers): CreditHandlers {
  return {
    ...handlers,
    async reserve(request, context) {
      const answer = await handlers.reserve(request, context);
      note(world, core, request);
      return answer;
    },
    async reserveMany(request, context) {
      const answer = await handlers.reserveMany(request, context);
      request.reservations.forEach(({ callId, organizationId }, index) => {
        if (answer.outcomes[index]?.outcome?.$case === "reserved") note(world, core, { callId, organizationId });
      });
      return answer;
    },
  };
}

function note(world: World, core: ControlCore, { callId, organizationId }: { callId: string; organizationId: string }): void {
  const slot = slotOf(organizationId, world.plan.slots);
  const owner = world.isShared ? (world.owners.get(slot)?.owner ?? "nobody") : core.process.name;
  if (owner !== core.process.name)
    world.foreign.push(`${core.process.name} granted ${callId} of the slot ${slot}, whose owner is ${owner}`);
  const [known, name] = [world.grants.get(callId), grantName(core, slot)];
  if (known) world.grants.set(callId, { ...known, name: known.name === name ? name : undefined });
  else world.grants.set(callId, { organizationId, atMs: world.time.nowMs, owner, name });
}

/** What a control plane reserved is forgotten with its process, and with its ownership of the slot. */
export function grantName({ process, slots }: ControlCore, slot: number): string {
  return `${process.name} ${slots.epochOf(slot)}`;
}
