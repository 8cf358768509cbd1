import { grantable, type LeaseDemand, outstandingOf } from "../domain/lease.ts";
import { organizationAccount } from "../domain/ledger.ts";
import type { Lease } from "../domain/records.ts";
import { collect } from "../stores/page.ts";
import type { Reader, Transaction } from "../stores/store.ts";
import { nextLeaseNumber } from "./counters.ts";

/** How long an edge may use a lease after it requested it. */
export const LEASE_USE_MS = 45_000;
/** Longer than the use by more than clocks and messages can differ, so that expired credit is no longer being spent. */
const LEASE_LIFE_MS = 60_000;

/** A lease request of an edge, with what it returns of the current lease. */
export interface LeaseInput extends LeaseDemand {
  readonly edgeId: string;
  readonly organizationId: string;
  readonly generation: number;
  readonly released: bigint;
}

/** Credit of an organization that edges hold. An expired lease holds nothing. */
export async function leasedOf(reader: Reader, organizationId: string, now: number): Promise<bigint> {
  const leases = await collect(reader.scan("leases", { index: "byOrganization", equals: [organizationId] }));
  return leases.reduce((sum, lease) => (lease.expiresAt > now ? sum + outstandingOf(lease) : sum), 0n);
}

/** The outcome of a lease request. */
export interface LeaseGrant {
  /** Absent: the edge had no lease and got none. */
  readonly lease: Lease | undefined;
  /** Credit added by this request. */
  readonly amount: bigint;
  readonly balance: bigint;
  /** Credit held by other edges and by calls that were reserved one by one. */
  readonly elsewhere: bigint;
}

/** Renews an edge's lease, takes back what the edge released, and adds what is available. `held` is credit of calls reserved one by one. */
export async function grantLease(tx: Transaction, input: LeaseInput, { held, now }: { held: bigint; now: number }): Promise<LeaseGrant> {
  const id = leaseId(input);
  const known = await tx.get("leases", id);
  const alive = known && known.expiresAt > now ? known : undefined;
  const current = alive && takeBack(alive, input);
  if (current) await tx.put("leases", current);
  const [account, leased] = await Promise.all([
    tx.get("accounts", organizationAccount(input.organizationId)),
    leasedOf(tx, input.organizationId, now),
  ]);
  const balance = account?.balance ?? 0n;
  const amount = grantable(input, balance - leased - held);
  const elsewhere = leased + held - (current ? outstandingOf(current) : 0n);
  if (!current && amount === 0n) return { lease: undefined, amount, balance, elsewhere };
  const base = current ?? (await newLease(tx, input));
  const lease = { ...base, granted: base.granted + amount, expiresAt: now + LEASE_LIFE_MS };
  await tx.put("leases", lease);
  return { lease, amount, balance, elsewhere };
}

/** Adds settled cost and released credit to a lease, in the transaction that settles the calls. */
export async function settleLease(
  tx: Transaction,
  input: Pick<LeaseInput, "edgeId" | "organizationId" | "generation" | "released"> & { settled: bigint },
  now: number,
): Promise<void> {
  const lease = await tx.get("leases", leaseId(input));
  // An expired lease already gave its credit back, once; the call is paid from the balance in any case.
  if (!lease || lease.generation !== input.generation || lease.expiresAt <= now) return;
  const updated = takeBack(lease, input);
  // A report may come twice. An unchanged lease is not written, unless it is time to renew it.
  if (updated === lease && input.settled === 0n && lease.expiresAt - now > LEASE_LIFE_MS / 2) return;
  await tx.put("leases", { ...updated, settled: lease.settled + input.settled, expiresAt: now + LEASE_LIFE_MS });
}

/** The leases of edges. */
export async function leasesOfEdges(reader: Reader, edgeIds: readonly string[]): Promise<Lease[]> {
  const leases: Lease[] = [];
  for (const edgeId of edgeIds) leases.push(...(await collect(reader.scan("leases", { index: "byEdge", equals: [edgeId] }))));
  return leases;
}

/** Ends leases of edges that are dead and whose calls are all settled, so that their credit is free before they expire. */
export async function endLeases(tx: Transaction, leases: readonly Lease[], now: number): Promise<void> {
  const current = await tx.getMany(
    "leases",
    leases.map(({ id }) => id),
  );
  for (const lease of current) if (lease && lease.expiresAt > now) await tx.put("leases", { ...lease, expiresAt: now });
}

function takeBack(lease: Lease, { generation, released }: Pick<LeaseInput, "generation" | "released">): Lease {
  return generation === lease.generation && released > lease.released ? { ...lease, released } : lease;
}

async function newLease(tx: Transaction, { edgeId, organizationId }: LeaseInput): Promise<Lease> {
  const generation = await nextLeaseNumber(tx, organizationId);
  const sums = { granted: 0n, settled: 0n, released: 0n };
  return { id: leaseId({ edgeId, organizationId }), edgeId, organizationId, generation, ...sums, expiresAt: 0 };
}

/** The id of an edge's lease for an organization. */
export function leaseId({ edgeId, organizationId }: Pick<LeaseInput, "edgeId" | "organizationId">): string {
  return `${edgeId}/${organizationId}`;
}
