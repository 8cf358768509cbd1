import { AppError } from "../../common/errors.ts";
import { newId } from "../../common/ids.ts";
import type {
  InviteMemberResponse,
  TeamMember as TeamMemberMessage,
  UpdateMemberResponse,
} from "../../proto/gen/tributary/teams/v1/teams.ts";
import { manages, mayGrant } from "../domain/permissions.ts";
import type { Invitation, Role, Team, TeamMember, User } from "../domain/records.ts";
import { collect } from "../stores/page.ts";
import type { Transaction } from "../stores/store.ts";
import { joinOrganization, joinTeam } from "../writes/accounts.ts";
import { appendChange } from "../writes/feed.ts";
import type { Actor } from "./actor.ts";
import type { ControlDeps } from "./deps.ts";
import { memberMessages } from "./messages.ts";
import { requireManagedTeam, requireTeam } from "./standing.ts";
import type { WriteScope } from "./write.ts";

const INVITATION_LIFE_MS = 7 * 24 * 3_600_000;

/** A known person joins at once; an unknown address waits for its sign-up. Asked again, it says so and changes nothing. */
export async function inviteToTeam(
  deps: ControlDeps,
  scope: WriteScope,
  actor: Actor,
  request: { teamId: string; email: string; role: string },
): Promise<InviteMemberResponse> {
  const { tx, now, audit } = scope;
  const { team, role: own } = await requireManagedTeam(tx, actor, request.teamId);
  const role = requireRole(request.role);
  if (!mayGrant(own, role)) throw new AppError("FORBIDDEN", `Your role in the team does not allow you to invite an ${role}.`);
  const email = request.email.toLowerCase();
  const user = await tx.find("users", "byEmail", [email]);
  const isNew = user ? await addMember(tx, { team, user, role }, now) : await addInvitation(deps, tx, { team, email, role, actor }, now);
  if (isNew) await audit({ action: "team.member.invite", target: team.id, organizationId: team.organizationId, details: { email, role } });
  const member = await memberByEmail(tx, team.id, email, now);
  const link = member.status === "invited" ? `${deps.config.publicUrl}/ui/signup?email=${encodeURIComponent(email)}` : undefined;
  if (link && isNew) void sendInvitation(deps, { team, email, link, inviter: actor.user });
  return { member, created: isNew, invitationLink: link && deps.config.mail.smtpUrl === undefined ? link : undefined };
}

/** Gives a member, or an invitation, another role. The last owner keeps his: a team without one could never be managed again. */
export async function changeRole(
  scope: WriteScope,
  actor: Actor,
  request: { teamId: string; memberId: string; role: string },
): Promise<UpdateMemberResponse> {
  const { tx, now, audit } = scope;
  const { team, role: own } = await requireManagedTeam(tx, actor, request.teamId);
  const role = requireRole(request.role);
  if (!mayGrant(own, role)) throw new AppError("FORBIDDEN", `Your role in the team does not allow you to make an ${role}.`);
  const invitation = await tx.get("invitations", request.memberId);
  if (invitation?.teamId === team.id) {
    await tx.put("invitations", { ...invitation, role });
  } else {
    const member = await requireChangeable(tx, { team, memberId: request.memberId, own, isLeaving: role !== "owner" });
    await tx.put("teamMembers", { ...member, role });
  }
  await appendChange(tx, { kind: "team", subject: team.id }, now);
  const { teamId, memberId } = request;
  await audit({ action: "team.member.update", target: teamId, organizationId: team.organizationId, details: { memberId, role } });
  const changed = (await memberMessages(tx, team.id, now)).find((member) => String(member.userId ?? member.memberId) === memberId);
  return { member: changed };
}

/** Takes a person, or an invitation, off a team. The last owner stays: a team without one could never be managed again. */
export async function removeFromTeam(scope: WriteScope, actor: Actor, request: { teamId: string; memberId: string }): Promise<void> {
  const { tx, now, audit } = scope;
  const { team, role } = await requireTeam(tx, actor, request.teamId);
  const leaving = request.memberId === String(actor.user.id);
  if (!leaving && !manages(role)) throw new AppError("FORBIDDEN", "Only an owner or admin of the team may do this.");
  const invitation = await tx.get("invitations", request.memberId);
  if (invitation && invitation.teamId === team.id) {
    await tx.remove("invitations", invitation.id);
  } else {
    await removePerson(tx, team, request.memberId, role);
  }
  await appendChange(tx, { kind: "team", subject: team.id }, now);
  await audit({
    action: "team.member.remove",
    target: team.id,
    organizationId: team.organizationId,
    details: { memberId: request.memberId },
  });
}

async function removePerson(tx: Transaction, team: Team, memberId: string, own: Role): Promise<void> {
  const member = await requireChangeable(tx, { team, memberId, own, isLeaving: true });
  await tx.remove("teamMembers", member.id);
  await leaveOrganization(tx, team.organizationId, member.userId);
}

/** `isLeaving`: he is no owner afterwards. */
async function requireChangeable(
  tx: Transaction,
  { team, memberId, own, isLeaving }: { team: Team; memberId: string; own: Role; isLeaving: boolean },
): Promise<TeamMember> {
  const member = await tx.get("teamMembers", `${team.id}/${memberId}`);
  if (!member) throw new AppError("NOT_FOUND", "The team has no such member.");
  if (member.role !== "owner" || !isLeaving) return member;
  if (own !== "owner") throw new AppError("FORBIDDEN", "Only an owner may demote or remove an owner.");
  const members = await collect(tx.scan("teamMembers", { index: "byTeam", equals: [team.id] }));
  if (members.filter(({ role }) => role === "owner").length === 1) {
    throw new AppError("VALIDATION_ERROR", "The last owner of a team cannot be removed; make another member owner first.");
  }
  return member;
}

// Whoever came into the organisation by a team, and is in none of its teams any more, is out of it.
async function leaveOrganization(tx: Transaction, organizationId: string, userId: number): Promise<void> {
  const membership = await tx.get("organizationMembers", `${organizationId}/${userId}`);
  if (membership?.role !== "member") return;
  const memberships = await collect(tx.scan("teamMembers", { index: "byUser", equals: [userId] }));
  const teams = await tx.getMany(
    "teams",
    memberships.map(({ teamId }) => teamId),
  );
  if (!teams.some((team) => team?.organizationId === organizationId)) await tx.remove("organizationMembers", membership.id);
}

async function addMember(tx: Transaction, input: { team: Team; user: User; role: Role }, now: number): Promise<boolean> {
  const { team, user, role } = input;
  if (await tx.get("teamMembers", `${team.id}/${user.id}`)) return false;
  await joinOrganization(tx, { organizationId: team.organizationId, userId: user.id, role: "member" }, now);
  await joinTeam(tx, { teamId: team.id, userId: user.id, role, invitedAt: now }, now);
  await appendChange(tx, { kind: "user", subject: String(user.id) }, now);
  return true;
}

async function addInvitation(
  deps: ControlDeps,
  tx: Transaction,
  input: { team: Team; email: string; role: Role; actor: Actor },
  now: number,
): Promise<boolean> {
  const { team, email, role, actor } = input;
  const known = await tx.find("invitations", "byTeamAndEmail", [team.id, email]);
  if (known && known.expiresAt > now && known.role === role) return false;
  const invitation: Invitation = {
    id: known?.id ?? newId("inv", deps),
    teamId: team.id,
    organizationId: team.organizationId,
    email,
    role,
    invitedBy: actor.user.id,
    invitedAt: now,
    expiresAt: now + INVITATION_LIFE_MS,
  };
  await tx.put("invitations", invitation);
  return !known || known.expiresAt <= now;
}

async function memberByEmail(tx: Transaction, teamId: string, email: string, now: number): Promise<TeamMemberMessage> {
  const member = (await memberMessages(tx, teamId, now)).find((candidate) => candidate.email === email);
  if (!member) throw new Error("an invited member must be listed");
  return member;
}

async function sendInvitation(deps: ControlDeps, invitation: { team: Team; email: string; link: string; inviter: User }): Promise<void> {
  const { team, email, link, inviter } = invitation;
  await deps.mailer.send({
    to: email,
    subject: `You are invited to the team ${team.name} on Tributary`,
    text: `${inviter.name} (${inviter.email}) invites you to the team "${team.name}". Within seven days, sign up with this address:\n\n${link}`,
  });
}

function requireRole(role: string): Role {
  if (role === "owner" || role === "admin" || role === "member") return role;
  throw new AppError("VALIDATION_ERROR", "A role is owner, admin or member.", {
    details: [{ path: "body.role", message: "must be owner, admin or member" }],
  });
}
