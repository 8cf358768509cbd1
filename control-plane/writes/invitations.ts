import { timingSafeEqual } from "node:crypto";
import { AppError } from "../../common/errors.ts";
import { newId } from "../../common/ids.ts";
import { mayGrant } from "../domain/permissions.ts";
import type { Invitation, Role, Team, User } from "../domain/records.ts";
import { collect } from "../stores/page.ts";
import type { Transaction } from "../stores/store.ts";
import { teamRoleOf } from "../stores/team-role.ts";
import { joinOrganization, joinTeam, type Source } from "./accounts.ts";
import { appendChange } from "./feed.ts";

const INVITATION_LIFE_MS = 7 * 24 * 3_600_000;
const SECRET_BYTES = 32;

/** Returns the stored form of a token. */
export type HashToken = (token: string) => string;

/** An invitation of an e-mail address to a team. */
export interface NewInvitation {
  team: Team;
  email: string;
  role: Role;
  invitedBy: number;
}

/** Invites an address. A pending invitation gets the new role and a new token; its old token stops working. */
export async function putInvitation(
  tx: Transaction,
  source: Source & { hashToken: HashToken },
  { team, email, role, invitedBy }: NewInvitation,
): Promise<{ invitation: Invitation; token: string; mailedToken: string; isNew: boolean }> {
  const now = source.clock.now();
  const known = await tx.find("invitations", "byTeamAndEmail", [team.id, email]);
  const id = known?.id ?? newId("inv", source);
  // The token starts with the id, which finds the invitation without an index over hashes.
  const token = `${id}.${source.random.bytes(SECRET_BYTES).toString("base64url")}`;
  // The inviter sees the token, so only the longer one of the mail proves that mail to the address is read.
  const mailedToken = `${token}.${source.random.bytes(SECRET_BYTES).toString("base64url")}`;
  const invitation: Invitation = {
    id,
    tokenHash: source.hashToken(token),
    mailedTokenHash: source.hashToken(mailedToken),
    teamId: team.id,
    organizationId: team.organizationId,
    email,
    role,
    invitedBy,
    invitedAt: now,
    expiresAt: now + INVITATION_LIFE_MS,
  };
  await tx.put("invitations", invitation);
  return { invitation, token, mailedToken, isNew: !known || known.expiresAt <= now };
}

/** The invitation of a token and an address. The token is checked first: without it, no information about addresses is given. */
export async function requireInvitation(
  tx: Transaction,
  { token, email, hashToken }: { token: string; email: string; hashToken: HashToken },
  now: number,
): Promise<Invitation> {
  const [id = "", secret = ""] = token.split(".");
  const invitation = await tx.get("invitations", id);
  if (!invitation || !opens(invitation, hashToken(`${id}.${secret}`), now) || !(await isStillGiven(tx, invitation))) {
    throw new AppError("NOT_FOUND", "The invitation has been used, withdrawn or replaced, or has expired. Ask to be invited again.");
  }
  if (invitation.email !== email) {
    throw new AppError("FORBIDDEN", "The invitation is for another e-mail address. Use the account of the address that was invited.");
  }
  return invitation;
}

/** Whether the token of an invitation is the one that was sent by mail, and not the one that the inviter was shown. */
export function isMailedToken({ mailedTokenHash }: Invitation, { token, hashToken }: { token: string; hashToken: HashToken }): boolean {
  return mailedTokenHash !== undefined && isSameHash(mailedTokenHash, hashToken(token));
}

/** Adds the user to the invitation's team and organization, and removes the invitation. */
export async function acceptInvitation(tx: Transaction, invitation: Invitation, user: User, now: number): Promise<void> {
  const { organizationId, teamId, role, invitedAt } = invitation;
  await tx.remove("invitations", invitation.id);
  await joinOrganization(tx, { organizationId, userId: user.id, role: "member" }, now);
  if (!(await tx.get("teamMembers", `${teamId}/${user.id}`))) await joinTeam(tx, { teamId, userId: user.id, role, invitedAt }, now);
  await appendChange(tx, { kind: "user", subject: String(user.id) }, now);
}

/** Removes the invitations that a user sent for a team, when the user leaves it. */
export async function withdrawInvitationsBy(tx: Transaction, { teamId, userId }: { teamId: string; userId: number }): Promise<void> {
  for (const invitation of await collect(tx.scan("invitations", { index: "byTeamAndEmail", equals: [teamId] }))) {
    if (invitation.invitedBy === userId) await tx.remove("invitations", invitation.id);
  }
}

/** Whether the inviter may still give the role: somebody who was disabled, demoted or removed has no way back by an invitation of their own. */
async function isStillGiven(tx: Transaction, { teamId, invitedBy, role }: Invitation): Promise<boolean> {
  const [team, inviter] = await Promise.all([tx.get("teams", teamId), tx.get("users", invitedBy)]);
  if (!team || !inviter || inviter.disabledAt !== undefined) return false;
  const own = await teamRoleOf(tx, { userId: inviter.id, team });
  return own !== undefined && mayGrant(own, role);
}

function opens({ tokenHash, expiresAt }: Invitation, given: string, now: number): boolean {
  return tokenHash !== undefined && expiresAt > now && isSameHash(tokenHash, given);
}

function isSameHash(stored: string, given: string): boolean {
  return stored.length === given.length && timingSafeEqual(Buffer.from(stored), Buffer.from(given));
}
