import { emptyAccount, organizationAccount } from "../domain/ledger.ts";
import { collect } from "../stores/page.ts";
import type { Store } from "../stores/store.ts";
import { openTestStore } from "../stores/test-store.ts";
import { grantLeases } from "../writes/leases.ts";
import { removeExpired } from "./remove-expired.ts";

const NOW = 1_700_000_000_000;
const MINUTE_MS = 60_000;

let store: Store;
let close: () => Promise<void>;
beforeEach(() => {
  ({ store, close } = openTestStore());
});
afterEach(() => close());

async function lease(now: number): Promise<void> {
  await store.transaction("every", async (tx) => {
    await tx.put("accounts", { ...emptyAccount(organizationAccount("org_1")), balance: 1000n });
    const input = { edgeId: "edge-1", organizationId: "org_1", generation: 0, released: 0n, need: 10n, want: 10n, free: 0n };
    await grantLeases(tx, [input], { heldOf: () => 0n, now });
  });
}

const leases = () => store.count("leases");

test("a lease that has expired is removed, one that has not stays", async () => {
  await lease(NOW);
  await removeExpired(NOW + MINUTE_MS - 1, { store });
  expect(await leases()).toBe(1);
  await removeExpired(NOW + MINUTE_MS + 1, { store });
  expect(await leases()).toBe(0);
});

test("a lease that is granted again after it was found to have expired stays: its credit is in use", async () => {
  await lease(NOW);
  const later = NOW + MINUTE_MS + 1;
  // Another transaction comes before that of the job.
  jest.spyOn(store, "transaction").mockImplementationOnce(async (scopes, work) => {
    await lease(later);
    return store.transaction(scopes, work);
  });
  await removeExpired(later, { store });
  expect(await leases()).toBe(1);
});

test("an invitation is removed when it has expired, so that old ones do not add up", async () => {
  const of = { teamId: "team_1", organizationId: "org_1", role: "member", invitedBy: 1, invitedAt: NOW } as const;
  await store.transaction("every", async (tx) => {
    await tx.insert("invitations", { ...of, id: "inv_1", email: "a@example.org", expiresAt: NOW + 1 });
    await tx.insert("invitations", { ...of, id: "inv_2", email: "b@example.org", expiresAt: NOW + MINUTE_MS });
  });
  await removeExpired(NOW + 2, { store });
  expect((await collect(store.scan("invitations"))).map(({ id }) => id)).toEqual(["inv_2"]);
});
