import fc from "fast-check";
import { slotOf } from "../../common/slots.ts";
import { postCharges } from "./charges.ts";
import { accountInSlot, emptyAccount, emptyHead, type LedgerState, organizationAccount, postTransfer } from "./ledger.ts";

const ORGANIZATIONS = ["org_1", "org_2", 'org "three" \u2028'];

function ledgerOf(slots: number): LedgerState {
  const ids = Array.from({ length: slots }, (_, slot) => accountInSlot("revenue", { slot, slots }));
  return {
    slots,
    heads: new Map(Array.from({ length: slots }, (_, slot) => [slot, emptyHead(slot)])),
    accounts: new Map([...ids, ...ORGANIZATIONS.map(organizationAccount)].map((id) => [id, emptyAccount(id)])),
  };
}

const charges = fc.array(
  fc.record({
    organizationId: fc.constantFrom(...ORGANIZATIONS),
    amount: fc.bigInt({ min: 1n, max: 2n ** 62n }),
    reference: fc.string({ unit: "grapheme" }),
  }),
  { maxLength: 30 },
);

test("charges in one go make the entries, hashes, accounts and heads that transfers one by one make, in any number of slots", () => {
  fc.assert(
    fc.property(charges, charges, fc.constantFrom(1, 2, 256), (first, second, slots) => {
      const [batched, single] = [ledgerOf(slots), ledgerOf(slots)];
      for (const [now, batch] of [first, second].entries()) {
        const entries = batch.map(({ organizationId, ...rest }) => {
          const to = accountInSlot("revenue", { slot: slotOf(organizationId, slots), slots });
          return postTransfer(single, { type: "usage", organizationId, from: organizationAccount(organizationId), to, ...rest }, now);
        });
        expect(postCharges(batched, batch, now)).toEqual(entries);
      }
      expect(batched).toEqual(single);
    }),
  );
});

test("the ledger that a failed batch was posted to is as it was before, and a charge of nothing is our own mistake", () => {
  const ledger = ledgerOf(1);
  const before = structuredClone(ledger);
  const charge = (amount: bigint) => ({ organizationId: "org_1", amount, reference: `call_${amount}` });
  expect(() => postCharges(ledger, [charge(5n), charge(0n)], 1)).toThrow("above zero");
  expect(ledger).toEqual(before);
  const { accounts } = ledger;
  const account = accounts.get("org:org_1");
  postCharges(ledger, [charge(5n)], 1);
  expect(account).toEqual(before.accounts.get("org:org_1"));
  expect(accounts.get("org:org_1")?.balance).toBe(-5n);
});
