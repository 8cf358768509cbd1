import { outstandingOf } from "../../../control-plane/domain/lease.ts";
import { organizationAccount } from "../../../control-plane/domain/ledger.ts";
import type { LedgerEntry, UsageRow } from "../../../control-plane/domain/records.ts";
import { checkLedger } from "../../../control-plane/services/ledger/verify.ts";
import { leasedOf } from "../../../control-plane/writes/leases.ts";
import { costOf, type SimCall, teamOf } from "./call-record.ts";
import { judgePayments, judgeRates, paidTo } from "./judge-planes.ts";
import { ownerOf } from "./payments.ts";
import type { World } from "./world.ts";

/** The numbers are those under which the invariants are known. */
export const INVARIANTS = {
  I1: "a balance is what was bought less what was settled",
  I2: "the ledger sums to zero, its chain is whole, rows, entries and roll-ups agree",
  I3: "every admitted call is settled once: none lost, none twice",
  I4: "a rate limit lets no more calls through than it says, under each owner of its slot",
  I6: "nothing is overspent beyond the bound",
  I8: "leased credit comes back, all of it, once",
  I9: "below zero the teams are blocked, at zero and above they are not",
  I16: "a call that was cut is billed for what was delivered, at most one note less, never more",
  I17: "what a client saw the end of is settled as it ended",
  I18: "a slot has one owner, which alone writes and grants in it",
  I19: "what an organization pays another arrives, once",
} as const;

export type Invariant = keyof typeof INVARIANTS;

export interface Violation {
  readonly invariant: Invariant;
  readonly what: string;
}

/** Holds what is committed against what the world saw. To be asked when everything is quiet. */
export async function judge(world: World): Promise<Violation[]> {
  const violations: Violation[] = [];
  const blame = (invariant: Invariant, what: string) => void violations.push({ invariant, what });
  const rows = new Map(world.tables.all("usage").map((row) => [row.id, row]));
  for (const call of world.calls.values()) {
    judgeCall(call, rows.get(call.id), blame);
    noteUnbilled(world, call, rows.get(call.id));
  }
  for (const row of rows.values()) if (!world.calls.has(row.id)) blame("I3", `${row.id} was never called`);
  for (const { life, name } of world.slots) {
    if (!life) blame("I3", `${name} does not run`);
    else if (life.credit.pending() > 0) blame("I3", `${name} still owes ${life.credit.pending()} settlements`);
  }
  for (const id of world.endedTooSoon)
    blame("I6", `${id} was settled after the lease of its dead edge was ended: its credit could be spent twice`);
  judgeBooks(world, [...rows.values()], blame);
  for (const what of world.foreign) blame("I18", what);
  judgePayments(world, blame);
  judgeRates(world, blame);
  const store = world.planes[0]?.core?.store;
  const verified = store && (await checkLedger(store, new AbortController().signal));
  if (!verified?.ok) blame("I2", `the ledger does not verify: ${verified?.firstBad?.reason ?? `sum ${verified?.sum}`}`);
  for (const { id } of world.plan.organizations) await judgeLeases(world, id, blame);
  return violations;
}

/** While leases are alive: an edge that had no trouble has given back what it does not need. */
export function judgeReturns(world: World): Violation[] {
  return world.slots.flatMap(({ life, hadTrouble }) => {
    if (!life || hadTrouble || world.refusedSettlements > 0) return [];
    return world.tables
      .all("leases")
      .filter((lease) => lease.edgeId === life.id && outstandingOf(lease) > 0n && lease.expiresAt > life.process.clock.now())
      .map(({ id, ...lease }) => ({ invariant: "I8" as const, what: `${id} sits on ${outstandingOf(lease)} without need` }));
  });
}

export type Blame = (invariant: Invariant, what: string) => void;

function judgeCall(call: SimCall, row: UsageRow | undefined, blame: Blame): void {
  const { id, finalCost } = call;
  if (call.acknowledged) {
    if (!row) blame("I17", `${id} had its last byte and is not settled`);
    else if (row.cost !== finalCost) blame("I17", `${id} ended for ${finalCost} and is billed ${row.cost}`);
  } else if (!call.admitted) {
    if (row && row.cost > 0n) blame("I3", `${id} was not admitted and is billed ${row.cost}`);
  } else if (call.cutBy === undefined) {
    blame("I3", `${id} never ended`);
  } else if (row) {
    judgeCut(call, row, blame);
  } else if (call.cutBy === "kill" && call.delivered > 0 && !call.troubled) {
    // A call that is cut off before anything of it was written has delivered nothing to its client.
    blame("I3", `${id} delivered ${call.delivered} tokens and is lost`);
  }
}

/** A call without its end costs what one of the last two notes says, or what its end says if that was written; after a power cut any note. */
function judgeCut({ id, notedTokens, delivered, finalCost, cutBy, troubled }: SimCall, row: UsageRow, blame: Blame): void {
  const anyNote = cutBy === "power" || troubled;
  const allowed = new Set((anyNote ? notedTokens : notedTokens.slice(-2)).map(costOf));
  if (anyNote || notedTokens.length < 2) allowed.add(0n);
  if (finalCost !== undefined) allowed.add(finalCost);
  if (!allowed.has(row.cost))
    blame("I16", `${id} delivered ${delivered} tokens, noted ${notedTokens.join(", ")}, and is billed ${row.cost}`);
}

function noteUnbilled({ worst }: World, { cutBy, troubled, delivered }: SimCall, row: UsageRow | undefined): void {
  if (cutBy !== "kill" || troubled || delivered === 0) return;
  const unbilled = costOf(delivered) - (row?.cost ?? 0n);
  if (unbilled > worst.unbilledNano) worst.unbilledNano = unbilled;
}

function judgeBooks(world: World, rows: readonly UsageRow[], blame: Blame): void {
  const entries = new Map<string, LedgerEntry>();
  for (const entry of world.tables.all("ledger")) {
    if (entries.has(entry.reference)) blame("I3", `${entry.reference} has two entries`);
    entries.set(entry.reference, entry);
  }
  for (const { id, cost } of rows) {
    const amount = entries.get(id)?.amount ?? 0n;
    if (amount !== cost) blame("I2", `the row of ${id} says ${cost}, its entry ${amount}`);
  }
  const paid = new Set(rows.map(({ id }) => id));
  for (const { type, reference } of entries.values())
    if (type === "usage" && !paid.has(reference)) blame("I2", `${reference} has an entry and no row`);
  const total = sum(rows.map(({ cost }) => cost));
  const rolledUp = sum(world.tables.all("rollups").map(({ cost }) => cost));
  const used = sum(world.tables.all("keyUses").map(({ spend }) => spend));
  if (rolledUp !== total || used !== total) blame("I2", `rows sum to ${total}, roll-ups to ${rolledUp}, keys to ${used}`);
  for (const { id, credit } of world.plan.organizations) {
    const own = rows.filter(({ organizationId }) => organizationId === id);
    judgeOrganization(world, { id, bought: credit + (world.bought.get(id) ?? 0n) + paidTo(world, id), rows: own }, blame);
  }
}

function judgeOrganization(
  world: World,
  { id, bought, rows }: { id: string; bought: bigint; rows: readonly UsageRow[] },
  blame: Blame,
): void {
  const balance = (world.tables.of("accounts").get(organizationAccount(id)) as { balance: bigint } | undefined)?.balance ?? 0n;
  const spent = sum(rows.map(({ cost }) => cost));
  if (balance !== bought - spent) blame("I1", `${id} bought ${bought}, used ${spent} and has ${balance}`);
  if (spent - bought > world.worst.overspentNano) world.worst.overspentNano = spent - bought;
  const bound = boundOf(world, id, rows);
  if (bought - spent < -bound) blame("I6", `${id} is at ${bought - spent}, the bound is ${-bound}`);
  const team = world.tables.of("teams").get(teamOf(id)) as { blockedByQuotaAt?: number } | undefined;
  const isBlocked = team?.blockedByQuotaAt !== undefined;
  if (isBlocked !== balance < 0n) blame("I9", `${id} is at ${balance} and ${isBlocked ? "" : "not "}blocked`);
}

/**
 * What may be missing: what calls cost beyond what they had set aside, and what was settled after its lease was over, because that credit
 * had come back and could be lent again.
 */
function boundOf(world: World, organizationId: string, rows: readonly UsageRow[]): bigint {
  const beyond = rows.map(({ id, cost }) => {
    const { reserved = 0n } = world.calls.get(id) ?? {};
    return cost > reserved ? cost - reserved : 0n;
  });
  return sum(beyond) + (world.uncovered.get(organizationId) ?? 0n);
}

async function judgeLeases(world: World, organizationId: string, blame: Blame): Promise<void> {
  const { tables } = world;
  const control = ownerOf(world, organizationId);
  if (!control) return blame("I18", `no owner of ${organizationId}`);
  const leased = await leasedOf(control.store, organizationId, control.process.clock.now());
  if (leased > 0n) blame("I8", `${organizationId} still has ${leased} leased`);
  const balance = (tables.of("accounts").get(organizationAccount(organizationId)) as { balance: bigint } | undefined)?.balance ?? 0n;
  const ask = { edgeId: "probe", organizationId, need: balance, want: balance, generation: 0n, released: 0n, free: 0n };
  const asked = control.handlers.lease(ask, {} as Parameters<typeof control.handlers.lease>[1]);
  await world.time.advance(50);
  const answer = await asked.catch((error: unknown) => blame("I8", `${organizationId} gets no lease: ${error}`));
  if (!answer) return;
  const { granted } = answer;
  const expected = balance > 0n ? balance : 0n;
  // Reservations of single calls that no edge could release expire a quarter of an hour later.
  const single = sum(
    [...world.calls.values()].map((call) => (call.isLimited && call.organizationId === organizationId ? call.worstCase : 0n)),
  );
  const least = world.hits.size === 0 ? expected : expected - single;
  if (granted > expected || (granted < least && granted > 0n) || (granted === 0n && least > 0n))
    blame("I8", `${organizationId} has ${balance}, and ${granted} of it can be had`);
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}
