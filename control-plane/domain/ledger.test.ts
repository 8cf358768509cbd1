import fc from "fast-check";
import { slotOf } from "../../common/slots.ts";
import {
  emptyAccount,
  emptyHead,
  entryHash,
  type LedgerState,
  NO_HASH,
  organizationAccount,
  postTransfer,
  type Transfer,
} from "./ledger.ts";
import type { LedgerEntry } from "./records.ts";

const ORGANIZATIONS = ["org_a", "org_b"];
const SYSTEM = ["revenue", "purchases", "grants"];

function emptyLedger(): LedgerState {
  const ids = [...SYSTEM, ...ORGANIZATIONS.map(organizationAccount)];
  return { slots: 1, heads: new Map([[0, emptyHead(0)]]), accounts: new Map(ids.map((id) => [id, emptyAccount(id)])) };
}

const transfers = fc.array(
  fc.record({
    organizationId: fc.constantFrom(...ORGANIZATIONS),
    type: fc.constantFrom("purchase", "grant", "usage", "adjustment", "refund" as const),
    amount: fc.bigInt({ min: 1n, max: 2n ** 62n / 100n }),
  }),
  { maxLength: 60 },
);

function toTransfer(input: { organizationId: string; type: string; amount: bigint }, index: number): Transfer {
  const account = organizationAccount(input.organizationId);
  const inward = input.type === "purchase" || input.type === "grant";
  const other = input.type === "usage" ? "revenue" : input.type === "purchase" || input.type === "refund" ? "purchases" : "grants";
  return {
    type: input.type as Transfer["type"],
    organizationId: input.organizationId,
    from: inward ? other : account,
    to: inward ? account : other,
    amount: input.amount,
    reference: `ref_${index}`,
  };
}

test("after any series of transfers all accounts sum to zero, and each balance is the sum of its entries", () => {
  fc.assert(
    fc.property(transfers, (given) => {
      const ledger = emptyLedger();
      const sums = new Map<string, bigint>();
      given.forEach((input, index) => {
        const entry = postTransfer(ledger, toTransfer(input, index), index);
        sums.set(entry.from, (sums.get(entry.from) ?? 0n) - entry.amount);
        sums.set(entry.to, (sums.get(entry.to) ?? 0n) + entry.amount);
        expect(entry.balanceAfter).toBe(sums.get(organizationAccount(entry.organizationId)));
        expect(entry.id).toBe(index + 1);
      });
      for (const [id, account] of ledger.accounts) expect(account.balance).toBe(sums.get(id) ?? 0n);
      expect([...ledger.accounts.values()].reduce((total, account) => total + account.balance, 0n)).toBe(0n);
    }),
  );
});

test("an organization's totals by kind explain its balance", () => {
  fc.assert(
    fc.property(transfers, (given) => {
      const ledger = emptyLedger();
      given.forEach((input, index) => void postTransfer(ledger, toTransfer(input, index), index));
      for (const id of ORGANIZATIONS.map(organizationAccount)) {
        const { balance, purchased, granted, rewarded, used } = ledger.accounts.get(id) ?? emptyAccount(id);
        expect(purchased + granted + rewarded - used).toBe(balance);
      }
    }),
  );
});

test("in any number of slots, numbers are unique and rise in a slot, and each slot's chain follows from its own beginning", () => {
  const closedHeads = fc.option(fc.record({ id: fc.constant("head"), seq: fc.nat(), hash: fc.constant("c".repeat(64)) }), {
    nil: undefined,
  });
  fc.assert(
    fc.property(transfers, fc.integer({ min: 1, max: 300 }), closedHeads, (given, slots, closed) => {
      const ledger = {
        ...emptyLedger(),
        slots,
        heads: new Map(Array.from({ length: slots }, (_, slot) => [slot, emptyHead(slot, closed)])),
      };
      const entries = given.map((input, index) => postTransfer(ledger, toTransfer(input, index), index));
      expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);
      for (const [slot, ofSlot] of Map.groupBy(entries, ({ organizationId }) => slotOf(organizationId, slots))) {
        let head = emptyHead(slot, closed);
        for (const { hash, ...fields } of ofSlot) {
          expect(fields.id).toBe(head.seq + slots);
          expect(fields.id).toBeGreaterThan(closed?.seq ?? 0);
          expect(entryHash(head.hash, fields)).toBe(hash);
          head = { ...head, seq: fields.id, hash };
        }
        expect(ledger.heads.get(slot)).toEqual(head);
      }
    }),
  );
});

test("changing any field of any entry breaks the chain at that entry", () => {
  const ledger = emptyLedger();
  const entry = postTransfer(ledger, toTransfer({ organizationId: "org_a", type: "purchase", amount: 5n }, 0), 7);
  const { hash, ...fields } = entry;
  expect(entryHash(NO_HASH, fields)).toBe(hash);
  const changes: Partial<LedgerEntry>[] = [
    { id: 2 },
    { reference: "x" },
    { type: "grant" },
    { organizationId: "org_b" },
    { from: "x" },
    { to: "x" },
    { amount: 6n },
    { balanceAfter: 0n },
    { note: "" },
    { createdAt: 8 },
  ];
  for (const change of changes) expect(entryHash(NO_HASH, { ...fields, ...change })).not.toBe(hash);
  expect(entryHash(hash, fields)).not.toBe(hash);
});

test("a transfer of nothing, of less than nothing, or within one account is our own mistake and stops", () => {
  const valid = toTransfer({ organizationId: "org_a", type: "purchase", amount: 5n }, 0);
  expect(() => postTransfer(emptyLedger(), { ...valid, amount: 0n }, 0)).toThrow();
  expect(() => postTransfer(emptyLedger(), { ...valid, amount: -1n }, 0)).toThrow();
  expect(() => postTransfer(emptyLedger(), { ...valid, from: valid.to }, 0)).toThrow();
});
