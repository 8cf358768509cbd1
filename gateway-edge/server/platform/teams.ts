import type { EdgeDeps } from "../../deps.ts";
import { idParams, searchQuery } from "../../schemas/fields.ts";
import * as schemas from "../../schemas/platform/teams.ts";
import { type Operation, operation } from "../middleware/operation.ts";
import { budgetChange } from "./budgets.ts";
import { presentApiKey, presentList, presentTeam, presentTeamMember, sent } from "./present.ts";
import { limitsChange, limitsOf } from "./rate-limits.ts";

const tag = "Teams";

export function teamOperations(deps: EdgeDeps): Operation[] {
  return [
    listTeams(deps),
    createTeam(deps),
    inviteMember(deps),
    updateMember(deps),
    removeMember(deps),
    getTeam(deps),
    updateTeam(deps),
    deleteTeam(deps),
  ];
}

const listTeams = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/gw/teams",
    summary: "List the teams of the active organization",
    tag,
    auth: "user",
    query: searchQuery,
    status: 200,
    answer: schemas.listTeamsAnswer,
    handler: async ({ query: { page, pageSize, search } }, call) => {
      const { teams, meta } = await control.teams.listTeams({ page: { page, pageSize }, search }, call.read());
      return presentList(teams, meta, presentTeam);
    },
  });

const createTeam = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/gw/teams",
    summary: "Create a team in the active organization, with its models, limits and budget",
    tag,
    auth: "user",
    body: schemas.createTeamBody,
    status: 201,
    answer: schemas.teamAnswer,
    handler: async ({ body }, call) => {
      const { team } = await control.teams.createTeam({ name: body.name, ...toLimits(body) }, call.write());
      return { team: presentTeam(sent(team, "team")) };
    },
  });

const getTeam = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/gw/teams/:id",
    summary: "Retrieve a team with its members and keys",
    tag,
    auth: "user",
    params: idParams,
    status: 200,
    answer: schemas.teamDetailAnswer,
    handler: async ({ params }, call) => {
      const { team, members, apiKeys } = await control.teams.getTeam(params, call.read());
      return {
        team: {
          ...presentTeam(sent(team, "team")),
          members: members.map(presentTeamMember),
          apiKeys: apiKeys.map(presentApiKey),
        },
      };
    },
  });

const updateTeam = ({ control }: EdgeDeps) =>
  operation({
    method: "patch",
    path: "/api/gw/teams/:id",
    summary: "Rename a team or change its models, limits and budget; null removes one",
    tag,
    auth: "user",
    params: idParams,
    body: schemas.updateTeamBody,
    status: 200,
    answer: schemas.teamAnswer,
    handler: async ({ params, body }, call) => {
      const request = {
        id: params.id,
        name: body.name,
        ...toLimits(body),
        clear: [...(["models", "guardrails"] as const).filter((list) => body[list] === null), ...(limitsChange(body)?.clear ?? [])],
      };
      const { team } = await control.teams.updateTeam(request, call.write());
      return { team: presentTeam(sent(team, "team")) };
    },
  });

const deleteTeam = ({ control }: EdgeDeps) =>
  operation({
    method: "delete",
    path: "/api/gw/teams/:id",
    summary: "Delete a team: its keys, members and stored objects are removed, its calls stay in the logs; the last team cannot be deleted",
    tag,
    auth: "user",
    params: idParams,
    status: 200,
    answer: schemas.deletedTeamAnswer,
    handler: async ({ params }, call) => {
      const { revokedKeys } = await control.teams.deleteTeam(params, call.write());
      return { deleted: true as const, id: params.id, revokedKeys };
    },
  });

const inviteMember = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/gw/teams/invite-member",
    summary: "Invite an email address; a member of the organization joins the team at once",
    tag,
    auth: "user",
    body: schemas.inviteMemberBody,
    status: 201,
    answer: schemas.inviteMemberAnswer,
    otherResponses: {
      200: {
        description: "The address was a member already, or was invited before: then with a new link, and the old link is invalid.",
        schema: schemas.inviteMemberAnswer,
      },
    },
    handler: async ({ body: { teamId, email, role } }, call) => {
      const { member, created, invitationLink, expiresAt } = await control.teams.inviteMember({ teamId, email, role }, call.write());
      if (!created) call.setStatus(200);
      return {
        member: presentTeamMember(sent(member, "member")),
        created,
        inviteUrl: invitationLink ?? null,
        expiresAt: expiresAt ?? null,
      };
    },
  });

const updateMember = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/gw/teams/update-member",
    summary: "Change the role of a member or an invitation; the role of the last owner cannot change",
    tag,
    auth: "user",
    body: schemas.updateMemberBody,
    status: 200,
    answer: schemas.updateMemberAnswer,
    handler: async ({ body }, call) => {
      const { member } = await control.teams.updateMember(body, call.write());
      return { member: presentTeamMember(sent(member, "member")) };
    },
  });

const removeMember = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/gw/teams/remove-member",
    summary: "Remove a member and block the member's keys of the team, or remove an invitation; the last owner cannot be removed",
    tag,
    auth: "user",
    body: schemas.removeMemberBody,
    status: 200,
    answer: schemas.removeMemberAnswer,
    handler: async ({ body }, call) => {
      const { disabledKeys } = await control.teams.removeMember(body, call.write());
      const memberId = /^[0-9]{1,18}$/.test(body.memberId) ? BigInt(body.memberId) : body.memberId;
      return { removed: true as const, teamId: body.teamId, memberId, disabledKeys };
    },
  });

function toLimits(body: schemas.TeamLimitFields) {
  return {
    models: body.models ? { names: body.models } : undefined,
    guardrails: body.guardrails ? { names: body.guardrails } : undefined,
    ...limitsOf(body),
    budget: budgetChange(body),
  };
}
