import { AppError } from "../../../common/errors.ts";
import type { RemoveMemberResponse, UpdateMemberResponse } from "../../../proto/gen/tributary/teams/v1/teams.ts";
import { manages, mayGrant } from "../../domain/permissions.ts";
import type { Invitation, Role, Team, TeamMember } from "../../domain/records.ts";
import { collect } from "../../stores/page.ts";
import type { Transaction } from "../../stores/store.ts";
import { appendChange } from "../../writes/feed.ts";
import { withdrawInvitationsBy } from "../../writes/invitations.ts";
import { disableKeysBy } from "../../writes/keys.ts";
import type { Actor } from "../actor.ts";
import { memberMessages } from "../messages.ts";
import { requireManagedTeam, requireTeam } from "../teams/access.ts";
import type { WriteScope } from "../write.ts";

/** Changes the role of a member or an invitation. The last owner cannot be demoted: a team without an owner could not be managed. */
export async function changeRole(
  scope: WriteScope,
  actor: Actor,
  request: { teamId: string; memberId: string; role: string },
): Promise<UpdateMemberResponse> {
  const { tx, now, audit } = scope;
  const { team, role: own } = await requireManagedTeam(tx, actor, request.teamId);
  const role = requireRole(request.role);
  if (!mayGrant(own, role)) throw new AppError("FORBIDDEN", `Your role in the team does not allow you to give the role ${role}.`);
  const invitation = await tx.get("invitations", request.memberId);
  if (invitation?.teamId === team.id) {
    requireOver(own, invitation);
    // It counts as long as the one who gave the role may give it.
    await tx.put("invitations", { ...invitation, role, invitedBy: actor.user.id });
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

/**
 * Removes a member, whose keys are disabled, or an invitation from a team. The last owner cannot be removed: a team without an owner
 * could not be managed.
 */
export async function removeFromTeam(
  scope: WriteScope,
  actor: Actor,
  request: { teamId: string; memberId: string },
): Promise<RemoveMemberResponse> {
  const { tx, now, audit } = scope;
  const { team, role } = await requireTeam(tx, actor, request.teamId);
  const leaving = request.memberId === String(actor.user.id);
  if (!leaving && !manages(role)) throw new AppError("FORBIDDEN", "Only an owner or admin of the team may do this.");
  const invitation = await tx.get("invitations", request.memberId);
  const isInvitation = invitation?.teamId === team.id;
  if (isInvitation) {
    requireOver(role, invitation);
    await tx.remove("invitations", invitation.id);
  }
  const disabledKeys = isInvitation ? [] : await removePerson(scope, { team, memberId: request.memberId, own: role });
  await appendChange(tx, { kind: "team", subject: team.id }, now);
  await audit({
    action: "team.member.remove",
    target: team.id,
    organizationId: team.organizationId,
    details: { memberId: request.memberId, disabledKeys },
  });
  return { disabledKeys };
}

async function removePerson({ tx, now }: WriteScope, leaving: { team: Team; memberId: string; own: Role }): Promise<string[]> {
  const { team, memberId, own } = leaving;
  const member = await requireChangeable(tx, { team, memberId, own, isLeaving: true });
  await tx.remove("teamMembers", member.id);
  await withdrawInvitationsBy(tx, { teamId: team.id, userId: member.userId });
  const disabledKeys = await disableKeysBy(tx, { teamId: team.id, userId: member.userId }, now);
  await leaveOrganization(tx, team.organizationId, member.userId);
  return disabledKeys;
}

/** Only who may give a role may take it from an invitation, or replace its link. */
export function requireOver(own: Role, { role }: Invitation): void {
  if (!mayGrant(own, role)) throw new AppError("FORBIDDEN", `Only an ${role} may change or remove the invitation of an ${role}.`);
}

/** `isLeaving`: the member is not an owner afterward. */
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
    throw new AppError("VALIDATION_ERROR", "The last owner of a team cannot be demoted or removed. Make another member an owner first.");
  }
  return member;
}

/** A plain member who is in none of the organization's teams any more leaves the organization. */
export async function leaveOrganization(tx: Transaction, organizationId: string, userId: number): Promise<void> {
  const membership = await tx.get("organizationMembers", `${organizationId}/${userId}`);
  if (membership?.role !== "member") return;
  const memberships = await collect(tx.scan("teamMembers", { index: "byUser", equals: [userId] }));
  const teams = await tx.getMany(
    "teams",
    memberships.map(({ teamId }) => teamId),
  );
  if (!teams.some((team) => team?.organizationId === organizationId)) await tx.remove("organizationMembers", membership.id);
}

export function requireRole(role: string): Role {
  if (role === "owner" || role === "admin" || role === "member") return role;
  throw new AppError("VALIDATION_ERROR", "The role must be owner, admin or member.", {
    details: [{ path: "body.role", message: "must be owner, admin or member" }],
  });
}
