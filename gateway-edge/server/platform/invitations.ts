import type { z } from "zod";
import type { Invitation } from "../../../proto/gen/tributary/teams/v1/teams.ts";
import type { EdgeDeps } from "../../deps.ts";
import { pageQuery } from "../../schemas/fields.ts";
import * as schemas from "../../schemas/platform/invitations.ts";
import type { invitationRecord } from "../../schemas/records.ts";
import { type Operation, operation } from "../middleware/operation.ts";
import { presentList, presentOrganization, presentTeam, presentTeamMember, sent } from "./present.ts";

const tag = "Teams";

export function invitationOperations(deps: EdgeDeps): Operation[] {
  return [listInvitations(deps), acceptInvitation(deps)];
}

const listInvitations = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/invitations",
    summary: "List the pending invitations to the caller's email address; the token is only in the invitation link",
    tag,
    auth: "user",
    query: pageQuery,
    status: 200,
    answer: schemas.listInvitationsAnswer,
    handler: async ({ query }, call) => {
      const { invitations, meta } = await control.teams.listInvitations({ page: query }, call.read());
      return presentList(invitations, meta, presentInvitation);
    },
  });

const acceptInvitation = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/invitations/accept",
    summary: "Accept an invitation with the token of its link; the caller must have the invited email address",
    tag,
    auth: "user",
    body: schemas.acceptInvitationBody,
    status: 200,
    answer: schemas.acceptInvitationAnswer,
    handler: async ({ body }, call) => {
      const { member, team, organization } = await control.teams.acceptInvitation(body, call.write());
      return {
        member: presentTeamMember(sent(member, "member")),
        team: presentTeam(sent(team, "team")),
        organization: presentOrganization(sent(organization, "organization")),
      };
    },
  });

function presentInvitation(invitation: Invitation): z.infer<typeof invitationRecord> {
  const { id, email, role, teamId, teamName, organizationId, organizationName } = invitation;
  return {
    id,
    email,
    role,
    teamId,
    teamName,
    organizationId,
    organizationName,
    invitedAt: sent(invitation.invitedAt, "invitedAt"),
    expiresAt: sent(invitation.expiresAt, "expiresAt"),
  };
}
