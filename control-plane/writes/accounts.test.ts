import { systemClock } from "../../common/clock.ts";
import { systemRandom } from "../../common/random.ts";
import { slotOf } from "../../common/slots.ts";
import { newOrganizationId } from "./accounts.ts";

const SOURCE = { clock: systemClock, random: systemRandom };

test("a new organization is in a slot of the control plane that creates it", () => {
  const owned = [3, 200];
  const store = { slots: 256, owns: (slot: number) => owned.includes(slot) };
  const slots = new Set(Array.from({ length: 40 }, () => slotOf(newOrganizationId(store, SOURCE), store.slots)));
  expect([...slots].sort((left, right) => left - right)).toEqual(owned);
});

test("a control plane without a slot draws an id all the same, and its owner gets the call", () => {
  expect(newOrganizationId({ slots: 256, owns: () => false }, SOURCE)).toMatch(/^org_/);
});
