import type { Clock } from "../../common/clock.ts";
import { newId } from "../../common/ids.ts";
import type { Random } from "../../common/random.ts";
import { slotOf } from "../../common/slots.ts";
import { organizationAccount } from "../domain/ledger.ts";
import type { Organization, Role, Session, SessionClient, Team, User } from "../domain/records.ts";
import { followBalance, followOrganization } from "../domain/team-state.ts";
import { collect } from "../stores/page.ts";
import { organizationScope, type Scope } from "../stores/scopes.ts";
import type { Store, Transaction } from "../stores/store.ts";
import { nextNumber } from "./counters.ts";
import { post } from "./ledger.ts";

/** Time and randomness for ids. */
export interface Source {
  clock: Clock;
  random: Random;
}

const SESSION_LIFE_MS = 30 * 24 * 3_600_000;

/** A user to be created with an organization. */
export interface NewAccount {
  email: string;
  name: string;
  organizationName: string;
  /** The id of the new organization, because it decides in which scope the transaction runs. */
  organizationId: string;
  passwordHash: string;
  role: User["role"];
  /** Credits to start with. */
  grant: bigint;
  /** The user has proved, or the operator states, that the address is theirs. */
  isEmailVerified?: boolean;
  /** The grant is posted only when the address is verified. */
  grantWaits?: boolean;
}

/** Owning one slot of 256, a control plane finds it with a probability of 99.9 %. */
const DRAWS_MAX = 2_000;

/**
 * The id of a new organization, in a slot of this control plane: any slot will do, and another control plane would draw another id. Without a
 * slot of its own it returns one of another control plane, which then gets the call.
 */
export function newOrganizationId(store: Pick<Store, "slots" | "owns">, source: Source): string {
  for (let draws = 1; ; draws++) {
    const id = newId("org", source);
    if (draws === DRAWS_MAX || store.owns(slotOf(id, store.slots))) return id;
  }
}

/** The scopes in which an account is created, for the id of its new organization. */
export function accountScopes(store: { readonly slots: number }, organizationId: string): readonly Scope[] {
  return ["identity", organizationScope(store, organizationId)];
}

/** Creates a user with an organization of their own and its first team. */
export async function createAccount(
  tx: Transaction,
  source: Source,
  input: NewAccount,
): Promise<{ user: User; organization: Organization; team: Team }> {
  const now = source.clock.now();
  const { organizationId } = input;
  const user: User = {
    id: await nextNumber(tx, "users"),
    email: input.email,
    name: input.name,
    role: input.role,
    organizationId,
    passwordHash: input.passwordHash,
    ...(input.isEmailVerified ? { emailVerifiedAt: now } : {}),
    ...(input.grantWaits && input.grant > 0n ? { pendingGrant: input.grant } : {}),
    createdAt: now,
  };
  const organization: Organization = {
    id: organizationId,
    name: input.organizationName,
    ownerId: user.id,
    timezone: "UTC",
    createdAt: now,
    updatedAt: now,
  };
  await tx.insert("users", user);
  await tx.insert("organizations", organization);
  await joinOrganization(tx, { organizationId, userId: user.id, role: "owner" }, now);
  const team = await insertTeam(tx, source, { name: "Default", organizationId, ownerId: user.id });
  if (input.grant > 0n && !input.grantWaits) await grantAtSignUp(tx, source, { organizationId, amount: input.grant });
  return { user, organization, team };
}

/** The scopes in which the address of an account is verified. */
export function verifyScopes(store: { readonly slots: number }, { pendingGrant, organizationId }: User): readonly Scope[] {
  return pendingGrant === undefined ? ["identity"] : accountScopes(store, organizationId);
}

/** Marks the address of an account as verified, and posts the sign-up grant if it waits for that. */
export async function verifyAddress(tx: Transaction, source: Source, user: User): Promise<User> {
  const { pendingGrant, ...rest } = user;
  const verified: User = { ...rest, emailVerifiedAt: user.emailVerifiedAt ?? source.clock.now() };
  await tx.put("users", verified);
  // The transaction that removes the field posts the grant, so it is posted once.
  if (pendingGrant !== undefined) await grantAtSignUp(tx, source, { organizationId: user.organizationId, amount: pendingGrant });
  return verified;
}

async function grantAtSignUp(tx: Transaction, source: Source, input: { organizationId: string; amount: bigint }): Promise<void> {
  await grant(tx, source, { ...input, note: "sign-up grant" });
}

/** Grants credits; a negative amount takes them back as an adjustment. */
export async function grant(tx: Transaction, source: Source, input: { organizationId: string; amount: bigint; note?: string }) {
  const account = organizationAccount(input.organizationId);
  const [from, to] = input.amount > 0n ? ["grants", account] : [account, "grants"];
  return post(
    tx,
    {
      type: input.amount > 0n ? "grant" : "adjustment",
      organizationId: input.organizationId,
      from,
      to,
      amount: input.amount > 0n ? input.amount : -input.amount,
      reference: newId("grant", source),
      ...(input.note === undefined ? {} : { note: input.note }),
    },
    source.clock.now(),
  );
}

export async function insertTeam(
  tx: Transaction,
  source: Source,
  input: { name: string; organizationId: string; ownerId: number },
): Promise<Team> {
  const now = source.clock.now();
  const draft: Team = {
    id: newId("team", source),
    name: input.name,
    nameKey: input.name.toLowerCase(),
    organizationId: input.organizationId,
    createdAt: now,
    updatedAt: now,
  };
  // A team created while the balance is below zero, or the organization is blocked, starts blocked: a new team must not bypass the block.
  const balance = (await tx.get("accounts", organizationAccount(input.organizationId)))?.balance ?? 0n;
  const followed = followBalance(draft, balance, now) ?? draft;
  const team = followOrganization(followed, (await tx.get("organizations", input.organizationId))?.blockedAt, now) ?? followed;
  await tx.insert("teams", team);
  await joinTeam(tx, { teamId: team.id, userId: input.ownerId, role: "owner", invitedAt: now }, now);
  return team;
}

export async function joinTeam(
  tx: Transaction,
  input: { teamId: string; userId: number; role: Role; invitedAt: number },
  now: number,
): Promise<void> {
  await tx.put("teamMembers", { id: `${input.teamId}/${input.userId}`, ...input, joinedAt: now });
}

/** Adds a user to the organization; a no-op for members. */
export async function joinOrganization(
  tx: Transaction,
  input: { organizationId: string; userId: number; role: Role },
  now: number,
): Promise<void> {
  const id = `${input.organizationId}/${input.userId}`;
  if (!(await tx.get("organizationMembers", id))) await tx.insert("organizationMembers", { id, ...input, joinedAt: now });
}

export async function openSession(tx: Transaction, source: Source, user: User, client: SessionClient = {}): Promise<Session> {
  const now = source.clock.now();
  const session: Session = {
    id: newId("ses", source),
    userId: user.id,
    organizationId: user.organizationId,
    createdAt: now,
    expiresAt: now + SESSION_LIFE_MS,
    ...client,
  };
  await tx.insert("sessions", session);
  return session;
}

/** Revokes every session of a user except `keep`, and returns their number. */
export async function endSessions(tx: Transaction, userId: number, now: number, keep?: string): Promise<number> {
  const sessions = await collect(tx.scan("sessions", { index: "byUser", equals: [userId] }));
  const ended = sessions.filter((session) => session.id !== keep && isAlive(session, now));
  for (const session of ended) await tx.put("sessions", { ...session, revokedAt: now });
  return ended.length;
}

export function isAlive({ revokedAt, expiresAt }: Session, now: number): boolean {
  return revokedAt === undefined && expiresAt > now;
}
