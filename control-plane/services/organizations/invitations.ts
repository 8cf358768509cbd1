import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import {
  AcceptInvitationResponse,
  type Invitation as InvitationMessage,
  InviteMemberResponse,
  type TeamMember as TeamMemberMessage,
  type TeamsServiceService,
} from "../../../proto/gen/tributary/teams/v1/teams.ts";
import { mayGrant } from "../../domain/permissions.ts";
import type { Invitation, Role, Team, User } from "../../domain/records.ts";
import type { Mail } from "../../mail/mailer.ts";
import { readPage } from "../../stores/page.ts";
import type { Reader, Transaction } from "../../stores/store.ts";
import { joinTeam, verifyAddress, verifyScopes } from "../../writes/accounts.ts";
import { appendChange } from "../../writes/feed.ts";
import { acceptInvitation, isMailedToken, putInvitation, requireInvitation } from "../../writes/invitations.ts";
import { type Actor, requireActor } from "../actor.ts";
import { limitByAddress } from "../client.ts";
import type { ControlDeps } from "../deps.ts";
import { date, memberMessages, metaOf, organizationMessage, pageOf, teamMessage } from "../messages.ts";
import { requireManagedTeam } from "../teams/access.ts";
import { type WriteScope, write } from "../write.ts";
import { requireOver, requireRole } from "./members.ts";

type Handlers = ServiceHandlers<typeof TeamsServiceService>;
type InvitationHandlers = Pick<Handlers, "inviteMember" | "listInvitations" | "acceptInvitation">;

export function invitationHandlers(deps: ControlDeps): InvitationHandlers {
  return { inviteMember: inviteMember(deps), listInvitations: listInvitations(deps), acceptInvitation: accept(deps) };
}

const inviteMember =
  (deps: ControlDeps): Handlers["inviteMember"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    await requireManagedTeam(deps.store, actor, request.teamId);
    limitByAddress(deps, context, "invitation");
    let mail: Mail | undefined;
    const response = await write(deps, context, { actor, codec: InviteMemberResponse, scopes: "identity" }, async (scope) => {
      const invited = await inviteToTeam(deps, scope, actor, request);
      mail = invited.mail;
      return invited.response;
    });
    // Sent after the commit, and not for a replayed request. Without a mail server nothing is sent, because the link would be in the log.
    if (mail && deps.config.mail.smtpUrl !== undefined) void deps.mailer.send(mail);
    return response;
  };

interface Invited {
  response: InviteMemberResponse;
  mail?: Mail;
}

/** A member of the organization joins at once. Any other address is invited; the answer does not reveal whether it has an account. */
async function inviteToTeam(
  deps: ControlDeps,
  scope: WriteScope,
  actor: Actor,
  request: { teamId: string; email: string; role: string },
): Promise<Invited> {
  const { tx, audit } = scope;
  const { team, role: own } = await requireManagedTeam(tx, actor, request.teamId);
  const role = requireRole(request.role);
  if (!mayGrant(own, role))
    throw new AppError("FORBIDDEN", `Your role in the team does not allow you to invite a member with the role ${role}.`);
  const email = request.email.toLowerCase();
  const pending = await tx.find("invitations", "byTeamAndEmail", [team.id, email]);
  if (pending && pending.expiresAt > scope.now) requireOver(own, pending);
  const colleague = await colleagueOf(tx, team, email);
  const invited = colleague
    ? await addColleague(scope, { team, user: colleague, role })
    : await invite(deps, scope, { team, email, role, inviter: actor.user });
  if (invited.mail || invited.response.created) {
    await audit({ action: "team.member.invite", target: team.id, organizationId: team.organizationId, details: { email, role } });
  }
  return invited;
}

async function colleagueOf(tx: Transaction, team: Team, email: string): Promise<User | undefined> {
  const user = await tx.find("users", "byEmail", [email]);
  const belongs = user && (await tx.get("organizationMembers", `${team.organizationId}/${user.id}`));
  return belongs ? user : undefined;
}

async function addColleague({ tx, now }: WriteScope, input: { team: Team; user: User; role: Role }): Promise<Invited> {
  const { team, user, role } = input;
  const isNew = !(await tx.get("teamMembers", `${team.id}/${user.id}`));
  if (isNew) {
    // The address was invited before its user joined the organization another way.
    const pending = await tx.find("invitations", "byTeamAndEmail", [team.id, user.email]);
    if (pending) await tx.remove("invitations", pending.id);
    await joinTeam(tx, { teamId: team.id, userId: user.id, role, invitedAt: now }, now);
    await appendChange(tx, { kind: "user", subject: String(user.id) }, now);
  }
  return { response: { member: await memberByEmail(tx, team.id, user.email, now), created: isNew } };
}

async function invite(
  deps: ControlDeps,
  { tx, now }: WriteScope,
  input: { team: Team; email: string; role: Role; inviter: User },
): Promise<Invited> {
  const { team, email, role, inviter } = input;
  const source = { clock: deps.clock, random: deps.random, hashToken: deps.secrets.tokenHash };
  const { invitation, token, mailedToken, isNew } = await putInvitation(tx, source, { team, email, role, invitedBy: inviter.id });
  const linkOf = (secret: string) => `${deps.config.publicUrl}/ui/invite?email=${encodeURIComponent(email)}&token=${secret}`;
  const member = await memberByEmail(tx, team.id, email, now);
  return {
    response: { member, created: isNew, invitationLink: linkOf(token), expiresAt: date(invitation.expiresAt) },
    mail: {
      to: email,
      subject: `You are invited to the team ${team.name} on Tributary`,
      text: `${inviter.name} (${inviter.email}) invites you to the team "${team.name}". To accept, open this link within seven days:\n\n${linkOf(mailedToken)}`,
    },
  };
}

async function memberByEmail(tx: Transaction, teamId: string, email: string, now: number): Promise<TeamMemberMessage> {
  const member = (await memberMessages(tx, teamId, now)).find((candidate) => candidate.email === email);
  if (!member) throw new Error("an invited member must be listed");
  return member;
}

const listInvitations =
  (deps: ControlDeps): Handlers["listInvitations"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    const page = pageOf(request.page);
    const now = deps.clock.now();
    const { records, total } = await readPage(deps.store, "invitations", {
      ...page,
      range: { index: "byEmail", equals: [actor.user.email], reverse: true },
      where: ({ tokenHash, expiresAt }) => tokenHash !== undefined && expiresAt > now,
    });
    return { invitations: await Promise.all(records.map((record) => invitationMessage(deps.store, record))), meta: metaOf(page, total) };
  };

async function invitationMessage(reader: Reader, invitation: Invitation): Promise<InvitationMessage> {
  const { id, email, role, teamId, organizationId } = invitation;
  const [team, organization] = await Promise.all([reader.get("teams", teamId), reader.get("organizations", organizationId)]);
  return {
    id,
    email,
    role,
    teamId,
    teamName: team?.name ?? "",
    organizationId,
    organizationName: organization?.name ?? "",
    invitedAt: date(invitation.invitedAt),
    expiresAt: date(invitation.expiresAt),
  };
}

const accept =
  (deps: ControlDeps): Handlers["acceptInvitation"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    const { user, organizationId: activeId } = actor;
    return write(
      deps,
      context,
      { actor, codec: AcceptInvitationResponse, scopes: verifyScopes(deps.store, user) },
      async ({ tx, now, audit }) => {
        const given = { token: request.token, email: user.email, hashToken: deps.secrets.tokenHash };
        const invitation = await requireInvitation(tx, given, now);
        await acceptInvitation(tx, invitation, user, now);
        const current = isMailedToken(invitation, given) ? await tx.get("users", user.id) : undefined;
        if (current) await verifyAddress(tx, deps, current);
        const { teamId, organizationId, role } = invitation;
        await audit({ action: "team.member.join", target: teamId, organizationId, details: { userId: user.id, role } });
        return joined(tx, { teamId, user, activeId, now });
      },
    );
  };

async function joined(
  tx: Transaction,
  { teamId, user, activeId, now }: { teamId: string; user: User; activeId: string; now: number },
): Promise<AcceptInvitationResponse> {
  const team = await tx.get("teams", teamId);
  const organization = team && (await tx.get("organizations", team.organizationId));
  const membership = organization && (await tx.get("organizationMembers", `${organization.id}/${user.id}`));
  if (!team || !membership) throw new Error("an accepted invitation must have made a member");
  return {
    member: await memberByEmail(tx, teamId, user.email, now),
    team: await teamMessage(tx, team, now),
    organization: await organizationMessage(tx, organization, { role: membership.role, activeId, now }),
  };
}
