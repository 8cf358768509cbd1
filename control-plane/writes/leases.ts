import { grantable, type LeaseDemand, outstandingOf } from "../domain/lease.ts";
import { organizationAccount } from "../domain/ledger.ts";
import type { Lease } from "../domain/records.ts";
import { collect } from "../stores/page.ts";
import type { Reader, Transaction } from "../stores/store.ts";
import { nextLeaseNumber, readLeaseNumbers } from "./counters.ts";

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
  return outstandingAt(leases, now);
}

const outstandingAt = (leases: readonly Lease[], now: number): bigint =>
  leases.reduce((sum, lease) => (lease.expiresAt > now ? sum + outstandingOf(lease) : sum), 0n);

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

/** What lease requests are decided with. */
export interface GrantContext {
  /** Credit of an organization's calls that are reserved one by one. */
  heldOf(organizationId: string): bigint;
  readonly now: number;
}

/**
 * Renews the leases of edges, takes back what they released, and adds what is available, for one request after the other. It reads everything
 * first and at once: a batch may have requests of hundreds of organizations.
 */
export async function grantLeases(tx: Transaction, inputs: readonly LeaseInput[], context: GrantContext): Promise<LeaseGrant[]> {
  const books = await readBooks(tx, inputs);
  const grants: LeaseGrant[] = [];
  for (const input of inputs) grants.push(await grantLease(tx, input, { ...context, book: books.get(input.organizationId) }));
  return grants;
}

/** The credit of an organization, and which edges hold parts of it. */
interface Book {
  readonly balance: bigint;
  /** By id; the grants of a batch change it. */
  readonly leases: Map<string, Lease>;
}

async function readBooks(tx: Transaction, inputs: readonly LeaseInput[]): Promise<Map<string, Book>> {
  const ids = [...new Set(inputs.map(({ organizationId }) => organizationId))];
  const accounts = await tx.getMany("accounts", ids.map(organizationAccount));
  const leases = await tx.listMany("leases", "byOrganization", ids);
  await readLeaseNumbers(tx, ids);
  return new Map(
    ids.map((id, position) => [
      id,
      { balance: accounts[position]?.balance ?? 0n, leases: new Map(leases[position]?.map((lease) => [lease.id, lease])) },
    ]),
  );
}

const NO_BOOK: Book = { balance: 0n, leases: new Map() };

async function grantLease(
  tx: Transaction,
  input: LeaseInput,
  { heldOf, now, book: { balance, leases } = NO_BOOK }: GrantContext & { book: Book | undefined },
): Promise<LeaseGrant> {
  const id = leaseId(input);
  const known = leases.get(id);
  const current = known && known.expiresAt > now ? takeBack(known, input) : undefined;
  if (current) leases.set(id, current);
  const leased = outstandingAt([...leases.values()], now);
  const held = heldOf(input.organizationId);
  const amount = grantable(input, balance - leased - held);
  const elsewhere = leased + held - (current ? outstandingOf(current) : 0n);
  if (!current && amount === 0n) return { lease: undefined, amount, balance, elsewhere };
  const base = current ?? (await newLease(tx, input));
  const lease = { ...base, granted: base.granted + amount, expiresAt: now + LEASE_LIFE_MS };
  leases.set(id, lease);
  // The list of the organization's leases had none with this id.
  if (known) await tx.put("leases", lease);
  else tx.insertNew("leases", [lease]);
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
