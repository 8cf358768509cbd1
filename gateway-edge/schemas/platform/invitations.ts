import { z } from "zod";
import { inviteToken } from "../fields.ts";
import { invitationRecord, listOf, organizationRecord, teamMemberRecord, teamRecord } from "../records.ts";

export const listInvitationsAnswer = listOf(invitationRecord);
export const acceptInvitationBody = z.object({ token: inviteToken });
export const acceptInvitationAnswer = z.object({ member: teamMemberRecord, team: teamRecord, organization: organizationRecord });
